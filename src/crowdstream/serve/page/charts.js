// Drawings in SVG, by attributes only. Each stands beside its numbers in text or carries a label.
// Places along an axis are percentages, so that a drawing fits whatever width it gets.

import { attr, el, svg } from "/page/dom.js";
import { percent, timeOf, whole } from "/page/format.js";

const WORD = 30; // per cent of a narrow column that the word chance takes, with half a number before it
const BEYOND = 1.1; // the axis goes a little beyond chance, for those who are worse

/** The shared axis of error rates: from 0 to chance and a little further. */
export class Axis {
  constructor(chance) {
    this.chance = chance;
    this.end = Math.min(1, chance * BEYOND);
  }

  at(share) {
    return Math.max(0, Math.min(1, share / this.end)) * 100;
  }

  x(share) {
    return `${this.at(share).toFixed(2)}%`;
  }

  ticks() {
    const found = [];
    const end = this.at(this.chance) - WORD;
    for (let share = 0; this.at(share) <= end; share += 0.2) found.push(share);
    return found;
  }

  /** The axis with its words, for the head of a column. */
  head() {
    const node = svg("svg", { class: "axis", "aria-hidden": "true" });
    for (const share of this.ticks()) {
      node.append(svg("text", { x: this.x(share), y: 12, class: share ? "tick" : "zero", "text-anchor": share ? "middle" : "start" }, share ? whole(share) : "0"));
    }
    node.append(svg("text", { x: this.x(this.chance), y: 12, "text-anchor": "end", dx: 10, class: "chance" }, "chance"));
    return node;
  }

  lines(height) {
    const grid = this.ticks().map((share) => svg("line", { x1: this.x(share), x2: this.x(share), y1: 0, y2: height, class: "grid" }));
    const chance = svg("line", { x1: this.x(this.chance), x2: this.x(this.chance), y1: 0, y2: height, class: "chance" });
    return [...grid, chance];
  }
}

/** Band and dot: an error rate with its interval. Hollow where it rests on agreement alone. */
export function bandDot(axis) {
  const band = svg("rect", { y: 8, height: 8, rx: 4, class: "band" });
  const dot = svg("circle", { cy: 12, r: 4.5, class: "dot" });
  const node = svg("svg", { class: "banddot", "aria-hidden": "true" }, axis.lines(24), band, dot);
  const update = ({ error_rate: rate, error_low: low, error_high: high, evidence }) => {
    const known = rate !== null;
    node.classList.toggle("unknown", !known);
    if (!known) return;
    const from = axis.at(low ?? rate);
    attr(band, { x: `${from.toFixed(2)}%`, width: `${(axis.at(high ?? rate) - from).toFixed(2)}%` });
    attr(dot, { cx: axis.x(rate) });
    dot.classList.toggle("hollow", evidence !== "gold");
  };
  return { node, update };
}

/** From before to after on the same axis. */
export function arrow(axis, before, after) {
  const worse = after > before;
  const from = axis.at(before);
  const to = axis.at(after);
  const tone = worse ? "worse" : "better";
  return svg(
    "svg",
    { class: `banddot arrow ${tone}`, "aria-hidden": "true" },
    axis.lines(24),
    svg("line", { x1: `${from}%`, x2: `${to}%`, y1: 12, y2: 12, class: "way" }),
    svg("circle", { cx: `${from}%`, cy: 12, r: 4, class: "dot hollow" }),
    svg("circle", { cx: `${to}%`, cy: 12, r: 4.5, class: "dot" }),
  );
}

const SPARK = { width: 84, height: 22, pad: 4 };

/** A small line of late error rates. */
export function sparkline(top) {
  const path = svg("polyline", { class: "line" });
  const last = svg("circle", { r: 2.5, class: "last" });
  const node = svg("svg", { class: "spark", width: SPARK.width, height: SPARK.height, role: "img" }, path, last);
  const update = (values) => {
    node.classList.toggle("unknown", values.length < 2);
    const said = values.length ? `from ${percent(values[0])} to ${percent(values.at(-1))}` : "not enough answers yet";
    node.setAttribute("aria-label", said);
    if (values.length < 2) return;
    const step = (SPARK.width - 2 * SPARK.pad) / (values.length - 1);
    const most = Math.max(top * 0.5, ...values);
    const place = (value, i) => [SPARK.pad + i * step, SPARK.height - SPARK.pad - (value / most) * (SPARK.height - 2 * SPARK.pad)];
    const places = values.map(place);
    attr(path, { points: places.map((xy) => xy.map((n) => n.toFixed(1)).join(",")).join(" ") });
    attr(last, { cx: places.at(-1)[0].toFixed(1), cy: places.at(-1)[1].toFixed(1) });
  };
  return { node, update };
}

/** Bars of counts by number of labels. */
export function histogram(label) {
  const node = svg("svg", { class: "histogram", role: "img" });
  const update = (counts) => {
    const numbers = counts.map(([n]) => n);
    const most = Math.max(1, ...counts.map(([, many]) => many));
    const slot = 100 / Math.max(numbers.length, 1);
    const text = counts.map(([n, many]) => `${n}: ${many}`).join(", ");
    attr(node, { "aria-label": `${label}: ${text}` });
    const parts = counts.flatMap(([n, many], i) => {
      const height = (many / most) * 78;
      const middle = `${(i + 0.5) * slot}%`;
      return [
        svg("rect", { x: `${i * slot + slot * 0.16}%`, width: `${slot * 0.68}%`, y: 96 - height, height, rx: 3, class: "bar" }),
        many ? svg("text", { x: middle, y: 90 - height, "text-anchor": "middle" }, String(many)) : null,
        svg("text", { x: middle, y: 112, "text-anchor": "middle", class: "tick" }, String(n)),
      ];
    });
    node.replaceChildren(...parts.filter(Boolean), svg("line", { x1: 0, x2: "100%", y1: 96.5, y2: 96.5, class: "grid" }));
  };
  return { node, update };
}

/** A thin bar of parts that add up to one: [share, class]. */
export function meter() {
  const node = svg("svg", { class: "meter", "aria-hidden": "true" });
  const update = (parts) => {
    let from = 0;
    const rects = parts.map(([share, kind]) => {
      const rect = svg("rect", { x: `${from * 100}%`, width: `${Math.max(share, 0) * 100}%`, height: 6, class: kind });
      from += share;
      return rect;
    });
    node.replaceChildren(svg("rect", { width: "100%", height: 6, class: "rest" }), ...rects);
  };
  return { node, update };
}

/** A small axis with one band and dot: for the tile of expected errors. */
export function interval() {
  const band = svg("rect", { height: 6, class: "band" });
  const dot = svg("circle", { cy: 3, r: 4, class: "dot" });
  const node = svg("svg", { class: "meter open", "aria-hidden": "true" }, svg("rect", { width: "100%", height: 6, class: "rest" }), band, dot);
  const update = (low, rate, high, hollow) => {
    const end = [0.05, 0.1, 0.25, 0.5, 1].find((limit) => high <= limit * 0.9) ?? 1;
    const at = (share) => `${Math.min(share / end, 1) * 100}%`;
    attr(band, { x: at(low), width: at(high - low) });
    attr(dot, { cx: at(rate) });
    dot.classList.toggle("hollow", hollow);
  };
  return { node, update };
}

/** Log-odds to the left or right of a middle line; `most` is the end of the axis. */
export function addedBar() {
  const bar = svg("rect", { y: 6, height: 10, rx: 2, class: "bar" });
  const node = svg("svg", { class: "added", "aria-hidden": "true" }, svg("line", { x1: "50%", x2: "50%", y1: 0, y2: 22, class: "middle" }), bar);
  const update = (value, most) => {
    const share = Math.min(Math.abs(value ?? 0) / most, 1) * 50;
    bar.classList.toggle("against", value < 0);
    attr(bar, { x: `${value < 0 ? 50 - share : 50}%`, width: `${share}%` });
  };
  return { node, update };
}

const PLOT = { left: 46, right: 14, top: 24, bottom: 28, height: 240 };

/** A line with its band over time; redrawn to the width it has. Points: {x, rate, low, high}. */
export function lineBand({ chance, label, unit }) {
  const node = svg("svg", { class: "plot", role: "img", height: PLOT.height });
  const holder = el("div", { class: "plot-holder" }, node);
  let points = [];
  let marks = [];

  const draw = () => {
    const width = holder.clientWidth || 600;
    if (points.length < 2) return;
    const [first, end] = [points[0].x, points.at(-1).x];
    const top = Math.min(1, Math.max(0.1, ...points.map((point) => point.high)) * 1.1);
    const x = (value) => PLOT.left + ((value - first) / Math.max(end - first, 1e-9)) * (width - PLOT.left - PLOT.right);
    const y = (share) => PLOT.top + (1 - share / top) * (PLOT.height - PLOT.top - PLOT.bottom);
    const step = [0.02, 0.05, 0.1, 0.2].find((size) => top / size <= 5) ?? 0.25;
    const parts = [];
    for (let share = 0; share <= top; share += step) {
      parts.push(svg("line", { x1: PLOT.left, x2: width - PLOT.right, y1: y(share), y2: y(share), class: "grid" }));
      parts.push(svg("text", { x: PLOT.left - 8, y: y(share) + 4, "text-anchor": "end" }, whole(share)));
    }
    const edge = [...points.map((p) => [x(p.x), y(p.high)]), ...points.toReversed().map((p) => [x(p.x), y(p.low)])];
    const text = (list) => list.map((xy) => xy.map((n) => n.toFixed(1)).join(",")).join(" ");
    parts.push(svg("polygon", { points: text(edge), class: "band" }));
    if (chance <= top) {
      parts.push(svg("line", { x1: PLOT.left, x2: width - PLOT.right, y1: y(chance), y2: y(chance), class: "chance" }));
      parts.push(svg("text", { x: width - PLOT.right, y: y(chance) - 5, "text-anchor": "end", class: "chance" }, "chance"));
    }
    for (const mark of marks.filter((at) => at.x >= first && at.x <= end)) {
      parts.push(svg("line", { x1: x(mark.x), x2: x(mark.x), y1: PLOT.top, y2: PLOT.height - PLOT.bottom, class: `alarm ${mark.direction}` }));
      parts.push(svg("text", { x: x(mark.x) + (x(mark.x) > width - 90 ? -5 : 5), y: PLOT.top - 8, "text-anchor": x(mark.x) > width - 90 ? "end" : "start", class: `alarm ${mark.direction}` }, mark.text));
    }
    parts.push(svg("polyline", { points: text(points.map((p) => [x(p.x), y(p.rate)])), class: "line" }));
    for (const p of points) parts.push(svg("circle", { cx: x(p.x), cy: y(p.rate), r: 3, class: "point" }));
    for (const share of width < 480 ? [0, 1] : [0, 0.5, 1]) {
      const value = first + share * (end - first);
      parts.push(svg("text", { x: x(value), y: PLOT.height - 8, "text-anchor": ["start", "middle", "end"][share * 2] }, unit === "time" ? timeOf(value, end - first) : `${Math.round(value).toLocaleString("en")} tasks`));
    }
    attr(node, { width, "aria-label": `${label}: from ${percent(points[0].rate)} to ${percent(points.at(-1).rate)}` });
    node.replaceChildren(...parts);
  };
  new ResizeObserver(draw).observe(holder);
  const update = (given, givenMarks = []) => {
    [points, marks] = [given, givenMarks];
    draw();
  };
  return { node: holder, update };
}
