// All projects that may be seen, to choose one.

import { el } from "/page/dom.js";
import { count, percent, plural } from "/page/format.js";
import { heading } from "/page/parts.js";
import { to } from "/page/route.js";

export class Projects {
  title = "Projects";

  constructor({ projects }) {
    const rows = projects.map((one) => el("tr", {}, el("th", { scope: "row" }, el("a", { class: "name", href: to(one.project, "overview") }, one.project)),
      el("td", { class: "r" }, count(one.labels)), el("td", { class: "r" }, count(one.workers)), el("td", { class: "r" }, count(one.tasks.closed)),
      el("td", { class: "r" }, count(one.tasks.open)), el("td", { class: "r" }, one.expected_errors?.shown ?? "")));
    const titles = ["labels", "workers", "decided", "open", "expected wrong"].map((title) => el("th", { scope: "col", class: "r" }, title));
    this.node = el("div", { class: "stack" }, heading("Projects", plural(projects.length, "project")),
      el("section", { class: "panel" }, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Projects" },
        el("table", {}, el("caption", { class: "hidden" }, "Projects"), el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "project"), titles)), el("tbody", {}, rows)))));
  }

  load() {}

  refresh() {}
}
