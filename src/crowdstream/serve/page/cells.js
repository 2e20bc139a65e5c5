// Cells of tables: each makes a node for an item and knows how to bring it up to date.

import { bandDot, meter, sparkline } from "/page/charts.js";
import { el, replace, setText } from "/page/dom.js";
import { count, percent, range, sureness } from "/page/format.js";
import { chip } from "/page/tips.js";
import { flagsOf, WORDS } from "/page/words.js";

const MOVED = 0.005; // change of an error rate from which on it is marked: less is noise

/** A cell of text: `read` gives the text of an item. */
export function text(read, options) {
  return () => {
    const node = el("span", {});
    return { node, update: (item) => setText(node, read(item), options) };
  };
}

/** A class: as long as it may be, it leaves the other columns their room. */
export function className(read) {
  return () => {
    const node = el("span", { class: "class" });
    return { node, update: (item) => { setText(node, read(item)); node.title = read(item); } };
  };
}

/** A name that leads somewhere; on a narrow screen with `more` below it. */
export function link(read, address, more = null) {
  return (item) => {
    const name = el("a", { href: address(item), class: "name", title: read(item) }, read(item));
    if (!more) return { node: name, update: () => {} };
    const { node, update } = more(item);
    return { node: el("span", { class: "named" }, name, el("span", { class: "tight" }, node)), update };
  };
}

/** Band and dot of an error rate. */
export function errorChart(axis) {
  return () => bandDot(axis);
}

/** The same in numbers, with what it rests on for those who do not see the dot. */
export function errorNumbers() {
  return () => {
    const rate = el("b", {});
    const around = el("small", {});
    const source = el("span", { class: "hidden" });
    let before = null;
    const update = (item) => {
      setText(rate, percent(item.error_rate), { marked: Math.abs(item.error_rate - before) >= MOVED });
      if (before === null || Math.abs(item.error_rate - before) >= MOVED) before = item.error_rate;
      setText(around, item.error_rate === null ? "not known yet" : range(item.error_low, item.error_high), { marked: false });
      source.textContent = item.error_rate === null ? "" : `, ${WORDS[item.evidence === "gold" ? "gold" : "agreement"][0]}`;
    };
    return { node: el("span", { class: "rate" }, rate, " ", around, source), update };
  };
}

export function answers() {
  return text((item) => count(item.answers), { marked: false });
}

export function trend(chance) {
  return () => {
    const line = sparkline(chance);
    return { node: line.node, update: (item) => item.line && line.update(item.line) };
  };
}

/** What there is to say of a worker. */
export function flags() {
  const node = el("span", { class: "chips" });
  let shown = null;
  const update = (item) => {
    const found = flagsOf(item);
    if (found.join() === shown) return;
    shown = found.join();
    replace(node, found.map((code) => chip(code)));
  };
  return { node, update };
}

/** How sure a decision is: a bar and the number. */
export function sure() {
  return () => {
    const bar = meter();
    const number = el("span", {});
    const update = (item) => {
      setText(number, sureness(item.confidence));
      bar.update([[item.confidence, item.settled ? "good" : "accent"]]);
    };
    return { node: el("span", { class: "sure" }, bar.node, number), update };
  };
}

/** Labels that a task is expected to need still. */
export function needs() {
  return text((item) => (item.closed ? "done" : item.needs === null || item.needs === undefined ? "?" : `+${Math.max(Math.ceil(item.needs), 1)}`));
}

/** Whether a task is open, or why it closed. */
export function state() {
  return () => {
    const node = el("span", {});
    let shown = null;
    const update = (item) => {
      const code = item.closed ?? "open";
      if (code === shown) return;
      shown = code;
      replace(node, chip(code));
    };
    return { node, update };
  };
}
