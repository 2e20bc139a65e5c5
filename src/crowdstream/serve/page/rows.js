// A table whose rows stay put while its values move. The place of a row that is no longer among those
// given is taken by a new one, or it is dimmed and goes at the next look: nothing jumps. If the order
// is no longer that of the server a button says so, and sorts when asked.

import { el } from "/page/dom.js";

export class Rows {
  /**
   * The view says where the button `again` stands, so that it moves nothing when it comes.
   * columns: {title, kind, head, sort, make(item) → {node, update(item)}}; key(item) names a row.
   * sort: {by, order, choose(by)}, where columns can be sorted by.
   */
  constructor({ columns, key, caption, empty, sort = null }) {
    Object.assign(this, { columns, key, emptyText: empty, sort });
    this.kept = new Map();
    this.latest = [];
    this.body = el("tbody");
    const head = el("tr", {}, columns.map((column) => this.head(column)));
    const table = el("table", {}, el("caption", { class: "hidden" }, caption), el("thead", {}, head), this.body);
    this.again = el("button", { type: "button", class: "again", hidden: true, onclick: () => this.set(this.latest, { sorted: true }) }, "order has changed, sort again");
    this.scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
    this.node = this.scroll;
    this.loading();
  }

  head(column) {
    const { title, kind = "", head, sort, say } = column;
    const inside = head ?? title;
    if (!sort || !this.sort) return el("th", { scope: "col", class: kind }, inside, say ? el("span", { class: "hidden" }, say) : null);
    const chosen = this.sort.by === sort;
    const direction = chosen ? (this.sort.order === "asc" ? "ascending" : "descending") : null;
    const sign = chosen ? (direction === "ascending" ? " ↑" : " ↓") : "";
    const button = el("button", { type: "button", class: "sort", onclick: () => this.sort.choose(sort) }, title, el("span", { "aria-hidden": "true" }, sign));
    return el("th", { scope: "col", class: kind, "aria-sort": direction }, button, head ?? null);
  }

  /** Empty lines of the height of rows, so that nothing moves when they come. */
  loading(lines = 6) {
    const blank = () => el("tr", { class: "blank", "aria-hidden": "true" }, this.columns.map(({ kind = "" }) => el("td", { class: kind }, el("span", {}, " "))));
    this.body.replaceChildren(...Array.from({ length: lines }, blank));
    this.blank = true;
  }

  row(item) {
    const cells = this.columns.map((column) => column.make(item));
    const nodes = cells.map(({ node }, i) => el(i ? "td" : "th", { class: this.columns[i].kind, scope: i ? null : "row" }, node));
    const row = { node: el("tr", {}, nodes), cells, name: this.key(item), gone: false };
    this.update(row, item);
    return row;
  }

  update(row, item) {
    row.gone = false;
    row.node.classList.remove("gone");
    for (const cell of row.cells) cell.update(item);
  }

  /** Change the rows that are there by these items, if they are among them. */
  patch(items) {
    for (const item of items) {
      const row = this.kept.get(this.key(item));
      if (row) this.update(row, { ...row.item, ...item });
    }
  }

  /** Show these items; `sorted`: in this order, else in the places that they have. */
  set(items, { sorted = false } = {}) {
    this.latest = items;
    if (!items.length && (this.blank || sorted || !this.kept.size)) return this.none();
    if (this.blank || sorted || !this.kept.size) this.sortAll(items);
    else this.keepPlaces(items);
    const wanted = items.map(this.key).join("\n");
    const shown = [...this.kept.values()].filter((row) => !row.gone).map((row) => row.name);
    this.again.hidden = !this.sort || shown.join("\n") === wanted;
  }

  none() {
    this.kept.clear();
    this.again.hidden = true;
    this.body.replaceChildren(el("tr", {}, el("td", { colspan: this.columns.length, class: "none" }, this.emptyText)));
    this.blank = true;
  }

  sortAll(items) {
    const before = this.blank ? new Map() : this.kept;
    this.blank = false;
    this.kept = new Map();
    for (const item of items) {
      const name = this.key(item);
      const row = before.get(name) ?? this.row(item);
      if (before.has(name)) this.update(row, item);
      row.item = item;
      this.kept.set(name, row);
    }
    this.body.replaceChildren(...[...this.kept.values()].map((row) => row.node));
  }

  keepPlaces(items) {
    const given = new Map(items.map((item) => [this.key(item), item]));
    const fresh = items.filter((item) => !this.kept.has(this.key(item)));
    const rows = [];
    for (const row of this.kept.values()) {
      const item = given.get(row.name);
      if (item) {
        row.item = item;
        this.update(row, item);
        rows.push(row);
      } else if (fresh.length) {
        const item = fresh.shift();
        const next = this.row(item);
        next.item = item;
        row.node.replaceWith(next.node);
        rows.push(next);
      } else if (!row.gone) {
        row.gone = true;
        row.node.classList.add("gone");
        rows.push(row);
      } else {
        row.node.remove();
      }
    }
    const room = items.length - rows.length;
    for (const item of fresh.slice(0, Math.max(room, 0))) {
      const next = this.row(item);
      next.item = item;
      this.body.append(next.node);
      rows.push(next);
    }
    this.kept = new Map(rows.map((row) => [row.name, row]));
  }
}
