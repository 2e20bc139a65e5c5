// Pieces that several views are made of: panels, a pager, a search field, a legend.

import { el, replace } from "/page/dom.js";
import { plural, when } from "/page/format.js";
import { word } from "/page/tips.js";
import { CASES } from "/page/words.js";

export function panel(title, sub, ...children) {
  return el("section", { class: "panel" }, el("h2", {}, title), sub ? el("p", { class: "sub" }, sub) : null, ...children);
}

/** What annotation tools were refused: they do not tell it themselves. */
export class Refusals {
  constructor(overview) {
    this.node = el("div", { class: "note plain", hidden: true });
    this.update(overview);
  }

  update(overview) {
    const hooks = overview?.hooks;
    this.node.hidden = !hooks?.refused;
    if (hooks?.refused) replace(this.node, el("b", {}, `${plural(hooks.refused, "request")} of annotation tools refused. `), el("span", {}, `The last at ${when(hooks.refused_at)}: ${hooks.why}`));
  }
}

/** The heading of a view, with a line below it. */
export function heading(title, ...sub) {
  return el("div", { class: "heading" }, el("h1", { tabindex: "-1" }, title), el("p", { class: "sub" }, ...sub));
}

/** Search: calls back a moment after the last key. */
export function search(label, value, changed) {
  let timer = null;
  const input = el("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false" });
  input.value = value;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => changed(input.value.trim()), 250);
  });
  const form = el("form", { role: "search", class: "search" }, input);
  form.addEventListener("submit", (event) => event.preventDefault());
  return form;
}

/** A choice of a few words; the chosen one is pressed. */
export function choices(label, options, chosen, choose) {
  const buttons = options.map(([value, text]) =>
    el("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => choose(value) }, text));
  return el("div", { class: "choices", role: "group", "aria-label": label }, buttons);
}

/** Pages by cursors: those that were seen are remembered, so that one can go back. */
export class Pager {
  constructor(size, go) {
    Object.assign(this, { size, go });
    this.first = el("button", { type: "button", onclick: () => this.turn(-Infinity) }, "First");
    this.before = el("button", { type: "button", onclick: () => this.turn(-1) }, "Previous");
    this.after = el("button", { type: "button", onclick: () => this.turn(1) }, "Next");
    this.where = el("span", { role: "status" });
    this.node = el("nav", { class: "pager", "aria-label": "Pages" }, this.first, this.before, this.where, this.after);
  }

  turn(step) {
    const seen = this.seen;
    if (step > 0) this.go({ page: this.page + 1, cursor: this.next, seen: [...seen, this.cursor] });
    else if (step === -Infinity || !seen.length) this.go({ page: 1, cursor: "", seen: [] });
    else this.go({ page: this.page - 1, cursor: seen.at(-1), seen: seen.slice(0, -1) });
  }

  show({ page, cursor, seen, next, rows, total }) {
    Object.assign(this, { page, cursor, seen, next });
    const from = (page - 1) * this.size + 1;
    const number = (n) => n.toLocaleString("en");
    this.where.textContent = rows ? `${number(from)} – ${number(from + rows - 1)}${total === undefined ? "" : ` of ${number(total)}`}` : "";
    this.first.disabled = this.before.disabled = page <= 1;
    this.after.disabled = !next;
    this.node.hidden = page <= 1 && !next;
  }
}

/** What the drawing of error rates means. */
export function legend(gold) {
  const dot = (kind) => el("i", { class: `key ${kind}`, "aria-hidden": "true" });
  return el("p", { class: "legend" },
    el("span", {}, el("i", { class: "key band", "aria-hidden": "true" }), `holds the truth in ${CASES} cases`),
    el("span", {}, dot(gold ? "full" : "hollow"), word(gold ? "gold" : "agreement")),
    el("span", {}, el("i", { class: "key chance", "aria-hidden": "true" }), word("chance", "chance: a guesser's")));
}

/** What went wrong, with a way on. */
export function trouble(error, retry) {
  const again = retry ? el("button", { type: "button", onclick: retry }, "Try again") : null;
  return el("section", { class: "panel trouble", role: "alert" }, el("h1", { tabindex: "-1" }, error.status === 404 ? "Not found" : "This did not work"), el("p", {}, error.message), again);
}
