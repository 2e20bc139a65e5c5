// Addresses of the page: #/project/view/name?sort=…; every view can be linked to, back works.

/** What an address asks for. */
export function read(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decode);
  if (parts[0] === "-") return { project: null, view: parts[1] ?? "projects", name: null, query: {} };
  return {
    project: parts[0] ?? null,
    view: parts[1] ?? "overview",
    name: parts[2] ?? null,
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a view. */
export function to(project, view, name = null, query = {}) {
  const parts = [project, ...(view === "overview" ? [] : [view]), ...(name === null ? [] : [name])];
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const text = new URLSearchParams(given).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}
