// One task: what is decided, how sure, and what each answer added to it.

import { get, projectPath } from "/page/api.js";
import * as cells from "/page/cells.js";
import { addedBar, meter } from "/page/charts.js";
import { el, replace, setText } from "/page/dom.js";
import { label, percent, plural, signed, when } from "/page/format.js";
import { heading, panel } from "/page/parts.js";
import { Rows } from "/page/rows.js";
import { to } from "/page/route.js";
import { chip, word } from "/page/tips.js";

const LEAST = 1; // log-odds at the end of the axis at least

export class Task {
  constructor(context) {
    this.context = context;
    this.project = context.project;
    this.task = context.name;
    this.title = context.name;
    this.most = LEAST;
    this.sub = el("span", {}, " ");
    this.votes = new Rows({
      key: (vote) => vote.worker,
      caption: "Answers to this task and what each added",
      empty: "No answer is kept.",
      columns: [
        { title: "worker", make: cells.link((vote) => vote.worker, (vote) => to(this.project, "workers", vote.worker)) },
        { title: "said", make: cells.text((vote) => (vote.label === null ? "skipped" : label(vote.label))) },
        { title: "against or for", kind: "chart", head: sides(), say: "as a bar, against to the left, for to the right", make: () => this.bar() },
        { title: "added", kind: "r", head: word("added"), make: cells.text((vote) => (vote.added === null ? "–" : signed(vote.added))) },
        { title: "errs", kind: "r", make: cells.text((vote) => percent(vote.error_rate)) },
        { title: "at", kind: "r soft wide", make: cells.text((vote) => when(vote.at)) },
      ],
    });
    this.about = el("p", { class: "sub" }, " ");
    this.chances = el("div", {});
    this.node = el("div", { class: "stack" },
      el("p", { class: "crumb" }, el("a", { href: to(this.project, "tasks") }, "Tasks")), heading(this.task, this.sub),
      el("div", { class: "columns" },
        el("section", { class: "panel" }, el("h2", {}, "What each answer added"), this.about, this.votes.node),
        el("section", { class: "panel" }, el("h2", {}, "How likely each label is"), el("p", { class: "sub" }, "By these answers and what is known of the workers now."), this.chances)));
  }

  bar() {
    const bar = addedBar();
    return { node: bar.node, update: (vote) => bar.update(vote.added, this.most) };
  }

  async load() {
    const found = await get(projectPath(this.project, "tasks", this.task));
    this.most = Math.max(LEAST, ...found.labels.map((vote) => Math.abs(vote.added ?? 0)));
    this.closed = found.closed !== null;
    const state = found.closed ?? "open";
    const decided = found.label === null ? ["No label yet."] : [el("b", {}, label(found.label)), `, ${percent(found.confidence)} sure, with ${plural(found.votes, "label")}. `];
    const known = found.gold === null || found.gold === undefined ? [] : [`Gold says ${label(found.gold)}. `];
    const left = found.closed ? [] : found.needs === null ? ["Unlikely to settle with more labels. "] : found.votes ? [stillNeeds(Math.ceil(found.needs))] : [];
    const shown = JSON.stringify([found.label, found.confidence, found.votes, state, left]);
    if (shown !== this.shown) replace(this.sub, decided, known, left, chip(state));
    this.shown = shown;
    const label_ = label(found.label);
    setText(this.about, found.votes_kept ? `Right: for ${label_}. Left: against it. A bar twice as long counts twice.` : "Not all answers to this task were kept.", { marked: false });
    this.votes.set(found.labels);
    this.showChances(found.probabilities);
  }

  showChances(probabilities) {
    const rows = probabilities.map(([name, chance]) => {
      const bar = meter();
      bar.update([[chance, "accent"]]);
      return el("div", { class: "likely" }, el("dt", {}, label(name)), el("dd", {}, bar.node, el("span", {}, percent(chance))));
    });
    replace(this.chances, rows.length ? el("dl", { class: "likelies" }, rows) : el("p", { class: "none" }, "Nothing is known yet."));
  }

  refresh() {
    return this.closed ? null : this.load();
  }
}

function stillNeeds(labels) {
  return labels ? `Needs about ${plural(labels, "more label", "more labels")}. ` : "Likely to settle with its next label. ";
}

function sides() {
  return el("span", { class: "sides", "aria-hidden": "true" }, el("span", {}, "← against"), el("span", {}, "for →"));
}

