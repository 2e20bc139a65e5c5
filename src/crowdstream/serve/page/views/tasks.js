// Tasks by their state, the most doubtful first; searched and paged by the server.

import { get, projectPath } from "/page/api.js";
import * as cells from "/page/cells.js";
import { el, replace, setText } from "/page/dom.js";
import { count, label, when } from "/page/format.js";
import { choices, heading, Pager, search } from "/page/parts.js";
import { Rows } from "/page/rows.js";
import { to } from "/page/route.js";
import { word } from "/page/tips.js";

const SIZE = 25;
const STATES = { uncertain: "most doubtful", open: "open", settled: "settled", closed: "all closed" };
const ABOUT = {
  uncertain: "Open tasks, the least sure first: worth another label.",
  open: "Open tasks, the longest without a label first.",
  settled: "Tasks that are as sure as asked for, the latest first.",
  closed: "Tasks that take no more labels, the latest first.",
};

export class Tasks {
  title = "Tasks";

  constructor(context) {
    this.context = context;
    this.project = context.project;
    this.query = { state: "uncertain", ...context.query };
    if (!(this.query.state in STATES)) this.query.state = "uncertain";
    this.holder = el("div", {});
    this.pick = el("div", {});
    this.hint = el("span", {});
    this.sub = el("span", {}, " ");
    this.pager = new Pager(SIZE, (where) => this.go({ ...where, seen: where.seen.join(".") }));
    this.node = el("div", { class: "stack" }, heading("Tasks", this.sub),
      el("section", { class: "panel" }, el("div", { class: "tools" }, this.pick, this.hint,
        search("Find a task", this.query.q ?? "", (q) => this.go({ q, page: "", cursor: "", seen: "" }, true))),
      this.holder, el("div", { class: "split" }, el("span", {}), this.pager.node)));
    this.make();
  }

  get isOpen() {
    return this.query.state === "uncertain" || this.query.state === "open";
  }

  make() {
    const { state } = this.query;
    replace(this.pick, choices("Which tasks", Object.entries(STATES), state, (chosen) => this.go({ state: chosen, page: "", cursor: "", seen: "" })));
    const last = this.isOpen
      ? [{ title: "needs", kind: "r", head: word("needs"), make: cells.needs() }]
      : [{ title: "closed", kind: "r", make: cells.text((row) => when(row.at)) }];
    this.rows = new Rows({
      key: (row) => row.task,
      caption: ABOUT[state],
      empty: this.query.q ? `No such task's name contains “${this.query.q}”.` : "There are none.",
      sort: { by: null, choose: () => {} },
      columns: [
        { title: "task", make: cells.link((row) => row.task, (row) => to(this.project, "tasks", row.task)) },
        { title: this.isOpen ? "leans to" : "decided", make: cells.className((row) => label(row.label)) },
        { title: "sure", kind: "level", head: word("sure"), make: cells.sure() },
        { title: "labels", kind: "r", make: cells.text((row) => count(row.votes)) },
        ...last,
        { title: "state", make: cells.state() },
      ],
    });
    this.rows.loading(SIZE);
    replace(this.hint, this.rows.again);
    setText(this.sub, ABOUT[state], { marked: false });
    replace(this.holder, this.rows.node);
  }

  async go(change, typing = false) {
    const inPick = this.pick.contains(document.activeElement);
    this.query = { ...this.query, ...change };
    this.context.setQuery(this.query, typing);
    this.make();
    if (inPick) this.pick.querySelector('[aria-pressed="true"]').focus();
    await this.fetch(true);
  }

  load() {
    return this.fetch(true);
  }

  refresh() {
    return this.fetch(false);
  }

  async fetch(sorted) {
    const asked = JSON.stringify(this.query);
    const { state, q, cursor } = this.query;
    const { tasks, next } = await get(projectPath(this.project, "tasks"), { state, q, cursor, limit: SIZE });
    if (asked !== JSON.stringify(this.query)) return;
    if (sorted || this.isOpen) this.rows.set(tasks, { sorted });
    else this.offer(tasks);
    const page = Number(this.query.page || 1);
    const seen = page > 1 ? (this.query.seen ?? "").split(".") : [];
    this.pager.show({ page, cursor: cursor ?? "", seen, next, rows: tasks.length });
  }

  /** Closed tasks do not change: newer ones are shown when asked for. */
  offer(tasks) {
    const fresh = tasks.filter((task) => !this.rows.kept.has(task.task)).length;
    if (this.rows.blank) return this.rows.set(tasks, { sorted: true });
    this.rows.latest = tasks;
    this.rows.again.hidden = !fresh;
    this.rows.again.textContent = fresh >= SIZE ? "many newer ones, show" : `${fresh} newer, show`;
  }

  change() {}
}
