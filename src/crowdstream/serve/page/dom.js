// Elements made of data. Text only ever becomes text: nothing here parses markup, so a worker
// called <img onerror=…> stays what it is, a name.

const SVG = "http://www.w3.org/2000/svg";
const MARKED = 2000; // milliseconds for which a changed value is marked

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An element: el("p", { class: "sub", onclick: f }, "text", another). */
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function attr(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

const timers = new WeakMap();

/** Mark a value that has just changed, for two seconds. */
export function mark(node) {
  node.classList.add("changed");
  clearTimeout(timers.get(node));
  timers.set(node, setTimeout(() => node.classList.remove("changed"), MARKED));
}

/** Set a text if it differs; mark it unless it is new or a count that never rests. */
export function setText(node, text, { marked = true } = {}) {
  if (node.textContent === text) return;
  const fresh = node.textContent === "" || node.textContent === "–";
  node.textContent = text;
  if (marked && !fresh) mark(node);
}

export function replace(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** Tell readers of the screen, politely. */
export function say(text) {
  document.getElementById("say").textContent = text;
}

/** A button that copies a text. */
export function copyButton(text) {
  const button = el("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = el("textarea", { class: "hidden" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    say("copied");
    setTimeout(() => (button.textContent = "Copy"), MARKED);
  });
  return button;
}

/** A command with a button that copies it. */
export function command(text, label) {
  const code = el("pre", { class: "command", tabindex: "0", role: "region", "aria-label": label }, el("code", {}, text));
  return el("div", { class: "copyable" }, code, copyButton(text));
}
