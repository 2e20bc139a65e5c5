// Questions to the server. A session that has ended is told to whoever asked to know.

export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

let onSignedOut = () => {};

export function whenSignedOut(callback) {
  onSignedOut = callback;
}

async function detailOf(response) {
  try {
    const problem = await response.json();
    return problem.detail ?? problem.title ?? response.statusText;
  } catch {
    return response.statusText || `the server said ${response.status}`;
  }
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new ApiError(0, "the server does not answer");
  }
  if (!response.ok) {
    if (response.status === 401 && path !== "/login") onSignedOut();
    throw new ApiError(response.status, await detailOf(response));
  }
  return response.status === 204 ? null : response.json();
}

export function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const text = new URLSearchParams(given).toString();
  return ask(text ? `${path}?${text}` : path);
}

export function post(path, body) {
  const headers = { "Content-Type": "application/json", "X-CSRF": "1" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

export function projectPath(project, ...parts) {
  return ["/v1/projects", project, ...parts].map((part, i) => (i ? encodeURIComponent(part) : part)).join("/");
}
