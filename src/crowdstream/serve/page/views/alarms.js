// Alarms as they ring: workers whose error rate changed, the latest first.

import { get, projectPath } from "/page/api.js";
import * as cells from "/page/cells.js";
import { arrow, Axis } from "/page/charts.js";
import { el, say } from "/page/dom.js";
import { count, percent, when } from "/page/format.js";
import { heading } from "/page/parts.js";
import { Rows } from "/page/rows.js";
import { to } from "/page/route.js";
import { chip } from "/page/tips.js";

export class Alarms {
  title = "Alarms";

  constructor(context) {
    this.context = context;
    this.project = context.project;
    const axis = new Axis(context.overview.chance);
    const still = (make) => (alarm) => ({ node: make(alarm), update: () => {} });
    this.rows = new Rows({
      key: (alarm) => `${alarm.at} ${alarm.worker} ${alarm.tasks_seen}`,
      caption: "Alarms, the latest first",
      empty: "No alarm so far: nobody's error rate has clearly changed.",
      columns: [
        { title: "noticed", make: cells.text((alarm) => when(alarm.at)) },
        { title: "worker", make: cells.link((alarm) => alarm.worker, (alarm) => to(this.project, "workers", alarm.worker)) },
        { title: "what", kind: "notes", make: still((alarm) => el("span", { class: "chips" }, chip(`got_${alarm.direction}`), alarm.everyone ? chip("everyone") : null)) },
        { title: "change", kind: "chart", head: axis.head(), say: "from before to after on a scale from 0 to chance", make: still((alarm) => arrow(axis, alarm.before, alarm.after)) },
        { title: "error rate", kind: "number", make: still((alarm) => el("span", { class: "rate" }, `${percent(alarm.before)} → `, el("b", {}, percent(alarm.after)))) },
        { title: "over answers", kind: "r", make: cells.text((alarm) => count(alarm.answers)) },
        { title: "after tasks", kind: "r wide", make: cells.text((alarm) => count(alarm.tasks_seen)) },
      ],
    });
    this.node = el("div", { class: "stack" }, heading("Alarms", "A worker's error rate went up or down by more than chance explains. Hollow: before; full: after."),
      el("section", { class: "panel" }, this.rows.node));
  }

  async load() {
    const { alarms } = await get(projectPath(this.project, "alarms"));
    this.rows.set(alarms, { sorted: true });
  }

  refresh() {}

  change({ overview, whole }) {
    if (!overview?.alarms) return;
    const last = overview.alarms.at(-1);
    if (last && !whole) say(`${last.worker} got ${last.direction}`);
    this.load();
  }
}
