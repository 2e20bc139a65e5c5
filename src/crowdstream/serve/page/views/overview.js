// The first screen: what changed, four tiles, whom to trust, the most uncertain tasks.

import { get, projectPath } from "/page/api.js";
import * as cells from "/page/cells.js";
import { Axis, histogram, interval, meter } from "/page/charts.js";
import { el, replace, setText } from "/page/dom.js";
import { count, decimal, label, money, percent, plural, range, sureness, when, whole } from "/page/format.js";
import { choices, legend, panel, Refusals } from "/page/parts.js";
import { Rows } from "/page/rows.js";
import { to } from "/page/route.js";
import { word } from "/page/tips.js";
import { LEVEL, WORDS } from "/page/words.js";

const SHOWN = 10; // workers
const DOUBTFUL = 6; // tasks
const DECIDED = 200; // latest decisions in the chart
const SORTS = { answers: "busiest", error_rate: "worst", trend: "most changed" };
const DAY = 86400;
const NUMBERS = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];

export class Overview {
  title = "Overview";

  constructor(context) {
    this.context = context;
    this.project = context.project;
    this.sort = sessionStorage.getItem("crowdstream-overview-sort") ?? "answers";
    this.axis = new Axis(context.overview.chance);
    this.votes = [];
    this.note = el("div", { class: "note", hidden: true });
    this.doubt = el("div", { class: "note plain", hidden: true });
    this.refusals = new Refusals(context.overview);
    this.tiles = tiles();
    this.agreement = el("p", { class: "sub agreement", hidden: true }, word("alpha", "Agreement"), " ", this.agreed = el("span", {}));
    this.workersPanel = panel("Whom to trust", "");
    this.makeWorkers();
    this.tasks = this.makeTasks();
    this.chart = histogram("decisions by the labels they took");
    this.chartSub = el("p", { class: "sub" }, " ");
    const side = el("div", { class: "panel" },
      el("section", {}, el("h2", {}, "Most uncertain tasks"), el("p", { class: "sub" }, "Open tasks nearest to a coin toss: worth another label."), this.tasks.node,
        el("p", { class: "more" }, el("a", { href: to(this.project, "tasks") }, "All tasks"))),
      el("section", {}, el("h2", {}, "Labels a decision took"), this.chartSub, this.chart.node));
    this.node = el("div", { class: "stack" }, el("h1", { class: "hidden", tabindex: "-1" }, `Overview of ${this.project}`),
      this.note, this.doubt, this.refusals.node, el("div", { class: "tiles" }, this.tiles.nodes), this.agreement, el("div", { class: "columns" }, this.workersPanel, side));
    this.change({ overview: context.overview });
  }

  makeWorkers() {
    const { axis, project } = this;
    const { flags } = cells;
    this.workers = new Rows({
      key: (row) => row.worker,
      caption: `Workers, the ${SORTS[this.sort]} first`,
      empty: "Nobody has answered yet.",
      sort: { by: this.sort, order: "desc", choose: () => {} },
      columns: [
        { title: "worker", make: cells.link((row) => row.worker, (row) => to(project, "workers", row.worker), flags) },
        { title: "answers", kind: "r wide", make: cells.answers() },
        { title: "error rate", kind: "chart", head: axis.head(), say: "error rate on a scale from 0 to chance", make: cells.errorChart(axis) },
        { title: "error rate", kind: "number", head: word("error_rate"), make: cells.errorNumbers() },
        { title: "notes", kind: "notes wide", make: flags },
      ],
    });
    const pick = choices("Sort workers by", Object.entries(SORTS), this.sort, (sort) => {
      this.sort = sort;
      sessionStorage.setItem("crowdstream-overview-sort", sort);
      this.makeWorkers();
      this.workersPanel.querySelector(`[aria-pressed="true"]`).focus();
      this.loadWorkers(true);
    });
    this.key = el("div", {});
    this.goldShown = null;
    this.workersSub = el("span", {}, " ");
    replace(this.workersPanel, el("div", { class: "split" }, el("h2", {}, "Whom to trust"), pick),
      el("p", { class: "sub" }, this.workersSub, " ", this.workers.again), this.workers.node, this.key,
      el("p", { class: "more" }, el("a", { href: to(project, "workers") }, "All workers")));
  }

  makeTasks() {
    return new Rows({
      key: (row) => row.task,
      caption: "Open tasks nearest to a coin toss",
      empty: "No open task is in doubt.",
      columns: [
        { title: "task", make: cells.link((row) => row.task, (row) => to(this.project, "tasks", row.task)) },
        { title: "leans to", make: cells.className((row) => label(row.label)) },
        { title: "sure", kind: "r", head: word("sure"), make: cells.text((row) => sureness(row.confidence)) },
        { title: "labels", kind: "r", make: cells.text((row) => count(row.votes)) },
        { title: "needs", kind: "r", head: word("needs"), make: cells.needs() },
      ],
    });
  }

  async load() {
    const decided = get(projectPath(this.project, "tasks"), { state: "closed", limit: DECIDED });
    await Promise.all([this.loadWorkers(true), this.loadTasks(), decided.then(({ tasks }) => this.decided(tasks))]);
  }

  async refresh() {
    await Promise.all([this.loadWorkers(false), this.loadTasks()]);
  }

  async loadWorkers(sorted) {
    const sort = this.sort;
    const { workers, total } = await get(projectPath(this.project, "workers"), { sort, limit: SHOWN });
    if (sort !== this.sort) return;
    this.workers.set(workers, { sorted });
    setText(this.workersSub, `${total > SHOWN ? `The ${SHOWN} ${SORTS[sort]} of ${plural(total, "worker")}` : `${plural(total, "worker")}, the ${SORTS[sort]} first`}, with ${LEVEL} intervals.`, { marked: false });
    const gold = workers.some((row) => row.evidence === "gold");
    if (gold !== this.goldShown) replace(this.key, legend(gold));
    this.goldShown = gold;
  }

  async loadTasks() {
    const { tasks } = await get(projectPath(this.project, "tasks"), { state: "uncertain", limit: DOUBTFUL });
    this.tasks.node.classList.toggle("six", tasks.length > 0);
    this.tasks.set(tasks);
  }

  decided(tasks) {
    this.votes = [...this.votes, ...tasks.filter((task) => task.closed && task.votes).map((task) => task.votes)].slice(-DECIDED);
    const most = Math.max(this.context.overview.settings.max_labels ?? 0, 3, ...this.votes);
    const shown = Math.min(most, 12);
    const counts = Array.from({ length: shown }, (_, i) => [i + 1, 0]);
    for (const votes of this.votes) counts[Math.min(votes, shown) - 1][1] += 1;
    this.chart.update(counts);
    this.chart.node.classList.toggle("none-yet", !this.votes.length);
    const mean = this.votes.reduce((sum, votes) => sum + votes, 0) / Math.max(this.votes.length, 1);
    const limit = this.context.overview.settings.max_labels;
    const fixed = limit ? ` The most would be ${limit}.` : "";
    setText(this.chartSub, this.votes.length ? `The latest ${plural(this.votes.length, "decision")}: ${mean.toFixed(1)} on average.${fixed}` : "No task is closed yet.", { marked: false });
  }

  change({ overview, workers, decisions, whole: all }) {
    const now = this.context.overview;
    this.tiles.update(now);
    this.agreement.hidden = !now.agreement;
    setText(this.agreed, now.agreement?.text.replace("agreement: ", "") ?? "", { marked: false });
    if (overview && "hooks" in overview) this.refusals.update(now);
    if (!overview || "alarms" in overview || "copies" in overview) this.changes(now);
    this.doubt.hidden = now.identifiable || !now.labels;
    if (!now.identifiable) replace(this.doubt, el("b", {}, "Workers cannot be told apart yet, so the majority decides. "), el("span", {}, now.why_not));
    if (workers) this.workers.patch(workers);
    if (decisions && !all) {
      this.decided(decisions);
      this.tasks.patch(decisions);
    }
  }

  /** One sentence of what changed since yesterday; not there if nothing did. */
  changes({ alarms, copies, at }) {
    const since = (at ?? Date.now() / 1000) - DAY;
    const latest = new Map();
    for (const alarm of alarms) if (alarm.at > since) latest.set(alarm.worker, alarm);
    const changed = [...latest.values()].sort((a, b) => b.at - a.at);
    const parts = [];
    if (changed.length) {
      const many = NUMBERS[changed.length] ?? count(changed.length);
      parts.push(el("b", {}, `${many} ${changed.length === 1 ? "worker" : "workers"} changed since yesterday. `));
      changed.slice(0, 2).forEach((alarm, i) => parts.push(i ? "; " : "", this.name(alarm.worker),
        ` went from ${percent(alarm.before)} to ${percent(alarm.after)} errors at ${when(alarm.at)}`));
      parts.push(changed.length > 2 ? el("span", {}, "; ", el("a", { href: to(this.project, "alarms") }, `${changed.length - 2} more`), ". ") : ". ");
    }
    for (const group of copies.slice(0, 2)) {
      const names = group.slice(0, 3).map((name) => this.name(name));
      const more = group.length > 3 ? [`${group.length - 3} others`] : [];
      const all = [...names, ...more];
      parts.push(...all.flatMap((name, i) => [i === 0 ? "" : i === all.length - 1 ? " and " : ", ", name]), " copy one another. ");
    }
    this.note.hidden = !parts.length;
    replace(this.note, el("p", {}, parts));
  }

  name(worker) {
    return el("a", { href: to(this.project, "workers", worker) }, worker);
  }
}

function tile(title, code, chart) {
  const value = el("div", { class: "value" }, "–");
  const note = el("div", { class: "about" }, " ");
  return { node: el("section", { class: "tile" }, el("h2", {}, word(code, title)), value, note, chart.node), value, note, chart };
}

function tiles() {
  const done = tile("Settled tasks", "settled", meter());
  const wrong = tile("Expected wrong decisions", "wrong", interval());
  const saved = tile("Labels saved", "saved", meter());
  const worth = tile("Independent votes per label", "worth", meter());
  const put = (one, value, note) => {
    setText(one.value, value, { marked: false });
    setText(one.note, note, { marked: false });
  };
  const update = (now) => {
    const { open, closed, settled } = now.tasks;
    const all = Math.max(open + closed, 1);
    const other = closed - settled;
    put(done, count(settled), `of ${count(open + closed)} · ${count(open)} still open${other ? ` · ${count(other)} closed in doubt` : ""}`);
    done.chart.update([[settled / all, "accent"], [other / all, "band"]]);
    const errors = now.expected_errors;
    put(wrong, errors?.shown ?? "–", errors?.about ?? "known once tasks are closed");
    wrong.chart.node.classList.toggle("unknown", !errors);
    if (errors) wrong.chart.update(errors.rate_low, errors.rate, errors.rate_high, errors.basis !== "gold");
    const less = now.saved;
    const kept = less ? [`${count(less.labels)} of ${count(less.labels / Math.max(less.share, 1e-9))}`] : [];
    if (less?.money) kept.push(money(less.money, less.currency));
    put(saved, less ? whole(less.share) : "–", less ? `${kept.join(" · ")} · against ${less.against} a task` : now.settings.max_labels ? "known once tasks are closed" : "set max_labels to compare with");
    saved.chart.update([[less?.share ?? 0, "accent"]]);
    const votes = now.label_worth;
    put(worth, decimal(votes?.share), votes ? `at most: ${votes.about}` : "known once three workers share tasks");
    worth.chart.update([[Math.min(votes?.share ?? 0, 1), "accent"]]);
  };
  return { nodes: [done, wrong, saved, worth].map(({ node }) => node), update };
}
