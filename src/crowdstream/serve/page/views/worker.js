// One worker: how right, how that changed, what is mixed up with what, what was said last.

import { get, projectPath } from "/page/api.js";
import { arrow, Axis, lineBand } from "/page/charts.js";
import { el, replace } from "/page/dom.js";
import { count, label, percent, plural, range, when, whole } from "/page/format.js";
import { heading, panel } from "/page/parts.js";
import { to } from "/page/route.js";
import { chip, word } from "/page/tips.js";
import { flagsOf, LEVEL, WORDS } from "/page/words.js";

/** Fill a node anew if what it shows has changed, but not under somebody's pointer or focus. */
function steady(node, shown, make) {
  const key = JSON.stringify(shown);
  const held = node.dataset.shown !== undefined && node.matches(":hover, :focus-within");
  if (key === node.dataset.shown || held) return;
  node.dataset.shown = key;
  replace(node, make());
}

export class Worker {
  constructor(context) {
    this.context = context;
    this.project = context.project;
    this.worker = context.name;
    this.title = context.name;
    this.axis = new Axis(context.overview.chance);
    this.line = lineBand({ chance: context.overview.chance, label: "Error rate over time", unit: "tasks" });
    this.history = lineBand({ chance: context.overview.chance, label: "Error rate as it was known", unit: "time" });
    this.sub = el("span", {}, " ");
    this.chips = el("p", { class: "chips" });
    this.over = el("div", {});
    this.rest = el("div", { class: "columns even" });
    this.node = el("div", { class: "stack" },
      el("p", { class: "crumb" }, el("a", { href: to(this.project, "workers") }, "Workers")),
      heading(this.worker, this.sub), this.chips,
      el("section", { class: "panel" }, el("h2", {}, "Error rate over time"), this.over), this.rest);
  }

  async load() {
    const found = await get(projectPath(this.project, "workers", this.worker));
    this.show(found);
  }

  refresh() {
    return this.load();
  }

  show(found) {
    const known = found.error_rate !== null;
    const source = found.evidence === "gold" ? "gold" : "agreement";
    steady(this.sub, [found.answers, found.error_rate, source], () => known
      ? [el("b", {}, `Wrong in ${percent(found.error_rate)}`), ` of answers (${range(found.error_low, found.error_high)}, `, word(source), `). ${plural(Math.round(found.answers), "answer")}.`]
      : [`${plural(Math.round(found.answers), "answer")}, too little to say how often they are wrong.`]);
    const flags = flagsOf(found);
    if (found.flags.includes("better_than_chance") && !flags.length) flags.push("better_than_chance");
    const group = this.context.overview.copies.find((names) => names.includes(this.worker));
    const others = (group ?? []).filter((name) => name !== this.worker);
    steady(this.chips, [flags, others], () => flags.map((code) => (code === "copy" && others.length ? chip(code, `${WORDS[code][0]} of ${others.slice(0, 3).join(", ")}`) : chip(code))));
    this.chips.hidden = !flags.length;
    this.showOver(found);
    steady(this.rest, [found.confusions, found.alarms, found.recent], () =>
      [el("div", { class: "stack" }, this.confusions(found), this.alarms(found)), this.recent(found)]);
  }

  showOver({ trends, history, alarms }) {
    const points = trends.map((point) => ({ x: point.tasks_seen, rate: point.error_rate, low: point.error_low, high: point.error_high }));
    const known = history.filter((point) => point.error_rate !== null);
    const samples = known.map((point) => ({ x: point.at, rate: point.error_rate, low: point.error_low ?? point.error_rate, high: point.error_high ?? point.error_rate }));
    if (points.length > 1) {
      const marks = alarms.map((alarm) => ({ x: alarm.tasks_seen, direction: alarm.direction, text: `got ${alarm.direction}` }));
      this.put(this.line, `Each point is over equally many answers, with its ${LEVEL} interval.`, points, "after tasks", (x) => count(x));
      this.line.update(points, marks);
    } else if (samples.length > 1) {
      const marks = alarms.map((alarm) => ({ x: alarm.at, direction: alarm.direction, text: `got ${alarm.direction}` }));
      this.put(this.history, "As it was known at each time, from all answers until then.", samples, "at", when);
      this.history.update(samples, marks);
    } else replace(this.over, el("p", { class: "none" }, "There will be a line once there are more answers."));
  }

  put(chart, about, points, head, say) {
    if (!this.over.contains(chart.node)) {
      this.table = el("tbody");
      replace(this.over, el("p", { class: "sub" }, about), chart.node,
        el("details", {}, el("summary", {}, "The same as a table"), el("table", { class: "small" }, el("caption", { class: "hidden" }, "Error rate over time"),
          el("thead", {}, el("tr", {}, el("th", { scope: "col" }, head), el("th", { scope: "col", class: "r" }, "error rate"), el("th", { scope: "col", class: "r" }, "interval"))), this.table)));
    }
    replace(this.table, points.map((point) => el("tr", {}, el("th", { scope: "row" }, say(point.x)), el("td", { class: "r" }, percent(point.rate)), el("td", { class: "r" }, range(point.low, point.high)))));
  }

  confusions({ confusions }) {
    const classes = [...new Set(confusions.map((cell) => cell.true_class))];
    const known = confusions.some((cell) => cell.probability !== null);
    if (!known || classes.length > 12) {
      const why = classes.length > 12 ? `There are ${classes.length} labels: too many for a table here.` : "Not known yet.";
      return panel("What is taken for what", null, el("p", { class: "none" }, why));
    }
    const value = new Map(confusions.map((cell) => [JSON.stringify([cell.true_class, cell.said]), cell.probability]));
    const cell = (truth, said) => {
      const share = value.get(JSON.stringify([truth, said])) ?? 0;
      const node = el("td", { class: `r ${truth === said ? "right" : "wrong"}` }, whole(share));
      node.style.setProperty("--share", share.toFixed(3));
      return node;
    };
    const table = el("table", { class: "confusions" }, el("caption", { class: "hidden" }, "How often a label is said, by the true one"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "truth"), classes.map((said) => el("th", { scope: "col", class: "r" }, `says ${label(said)}`)))),
      el("tbody", {}, classes.map((truth) => el("tr", {}, el("th", { scope: "row" }, label(truth)), classes.map((said) => cell(truth, said))))));
    return panel("What is taken for what", "Each row: tasks of one truth, and how often each label is said of them.",
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Mix-ups" }, table));
  }

  alarms({ alarms }) {
    if (!alarms.length) return panel("Alarms", null, el("p", { class: "none" }, "None so far: no clear change."));
    const rows = alarms.toReversed().slice(0, 5).map((alarm) => el("tr", {}, el("th", { scope: "row" }, when(alarm.at)),
      el("td", { class: "chart" }, arrow(this.axis, alarm.before, alarm.after)), el("td", {}, `${percent(alarm.before)} → ${percent(alarm.after)}`)));
    return panel("Alarms", null, el("table", {}, el("caption", { class: "hidden" }, "Alarms of this worker"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "noticed"), el("th", { scope: "col", class: "chart" }, this.axis.head(), el("span", { class: "hidden" }, "as a drawing")), el("th", { scope: "col" }, "error rate"))), el("tbody", {}, rows)));
  }

  recent({ recent }) {
    if (!recent.length) return panel("Latest answers", null, el("p", { class: "none" }, "Labels of closed tasks are not kept on this server, or none came lately."));
    const verdict = (answer) => {
      if (answer.label === null) return el("span", { class: "chip" }, "skipped");
      if (answer.decided === null) return el("span", { class: "chip" }, "open");
      const same = answer.decided === answer.label;
      if (!answer.closed) return el("span", { class: "chip" }, same ? "leans the same way" : `leans to ${label(answer.decided)}`);
      return el("span", { class: `chip ${same ? "good" : "warn"}` }, same ? "as decided" : `decided ${label(answer.decided)}`);
    };
    const rows = recent.slice(0, 12).map((answer) => el("tr", {}, el("th", { scope: "row" }, el("a", { class: "name", href: to(this.project, "tasks", answer.task) }, answer.task)),
      el("td", {}, label(answer.label)), el("td", {}, verdict(answer)), el("td", { class: "r soft" }, when(answer.at))));
    return panel("Latest answers", null, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Latest answers" }, el("table", {}, el("caption", { class: "hidden" }, "Latest answers of this worker"),
      el("thead", {}, el("tr", {}, ["task", "said", "decision"].map((title) => el("th", { scope: "col" }, title)), el("th", { scope: "col", class: "r" }, "at"))), el("tbody", {}, rows))));
  }
}
