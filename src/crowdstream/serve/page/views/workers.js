// All workers: searched, sorted and paged by the server, so that 100,000 are no more work than ten.

import { get, projectPath } from "/page/api.js";
import * as cells from "/page/cells.js";
import { Axis } from "/page/charts.js";
import { el, replace, say, setText } from "/page/dom.js";
import { plural } from "/page/format.js";
import { heading, legend, Pager, search } from "/page/parts.js";
import { Rows } from "/page/rows.js";
import { to } from "/page/route.js";
import { LEVEL } from "/page/words.js";

const SIZE = 25;

export class Workers {
  title = "Workers";

  constructor(context) {
    this.context = context;
    this.project = context.project;
    this.query = { sort: "answers", ...context.query };
    this.axis = new Axis(context.overview.chance);
    this.holder = el("div", {});
    this.hint = el("span", {});
    this.sub = el("span", {}, " ");
    this.key = el("div", {});
    this.pager = new Pager(SIZE, (where) => this.go({ ...where, seen: where.seen.join(".") }));
    this.node = el("div", { class: "stack" }, heading("Workers", this.sub),
      el("section", { class: "panel" }, el("div", { class: "tools" }, this.hint,
        search("Find a worker", this.query.q ?? "", (q) => this.go({ q, page: "", cursor: "", seen: "" }, true))),
      this.holder, el("div", { class: "split" }, this.key, this.pager.node)));
    this.make();
  }

  make() {
    const { sort } = this.query;
    const order = this.query.order || (sort === "name" ? "asc" : "desc");
    const { flags } = cells;
    this.rows = new Rows({
      key: (row) => row.worker,
      caption: "Workers with their error rates",
      empty: this.query.q ? `No worker's name contains “${this.query.q}”.` : "Nobody has answered yet.",
      sort: { by: sort, order, choose: (by) => this.choose(by, sort, order) },
      columns: [
        { title: "worker", sort: "name", make: cells.link((row) => row.worker, (row) => to(this.project, "workers", row.worker), flags) },
        { title: "answers", sort: "answers", kind: "r wide", make: cells.answers() },
        { title: "error rate", kind: "chart", head: this.axis.head(), say: "error rate on a scale from 0 to chance", make: cells.errorChart(this.axis) },
        { title: "error rate", sort: "error_rate", kind: "number", make: cells.errorNumbers() },
        { title: "trend", sort: "trend", kind: "trend", make: cells.trend(this.context.overview.chance) },
        { title: "notes", kind: "notes wide", make: flags },
      ],
    });
    this.rows.loading(SIZE);
    replace(this.hint, this.rows.again);
    replace(this.holder, this.rows.node);
  }

  choose(by, sort, order) {
    const turned = order === "desc" ? "asc" : "desc";
    this.go({ sort: by, order: by === sort ? turned : "", page: "", cursor: "", seen: "" });
  }

  async go(change, typing = false) {
    this.query = { ...this.query, ...change };
    this.context.setQuery(this.query, typing);
    const focused = document.activeElement?.closest("th")?.cellIndex;
    const again = this.rows.node;
    const before = this.rows;
    this.make();
    if (before.blank === false) replace(this.holder, again); // the old rows stay until the new ones are here
    await this.load();
    replace(this.holder, this.rows.node);
    if (focused !== undefined) this.holder.querySelectorAll("th")[focused]?.querySelector("button")?.focus();
  }

  async load() {
    await this.fetch(true);
    say(`${plural(this.total, "worker")} found`);
  }

  async refresh() {
    await this.fetch(false);
  }

  async fetch(sorted) {
    const asked = JSON.stringify(this.query);
    const { sort, order, q, cursor } = this.query;
    const found = await get(projectPath(this.project, "workers"), { sort, order, q, cursor, limit: SIZE });
    if (asked !== JSON.stringify(this.query)) return;
    this.total = found.total;
    this.rows.set(found.workers, { sorted });
    const page = Number(this.query.page || 1);
    const seen = page > 1 ? (this.query.seen ?? "").split(".") : [];
    this.pager.show({ page, cursor: cursor ?? "", seen, next: found.next, rows: found.workers.length, total: found.total });
    setText(this.sub, `${plural(found.total, "worker")}${q ? ` with “${q}” in the name` : ""}. How often each is wrong, with ${LEVEL} intervals.`, { marked: false });
    const gold = found.workers.some((row) => row.evidence === "gold");
    if (gold !== this.gold) replace(this.key, legend(gold));
    this.gold = gold;
  }

  change({ workers }) {
    if (workers) this.rows.patch(workers);
  }
}
