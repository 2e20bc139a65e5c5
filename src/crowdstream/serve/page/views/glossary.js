// The words of this page, each in one sentence.

import { el } from "/page/dom.js";
import { heading } from "/page/parts.js";
import { WORDS } from "/page/words.js";

export class Glossary {
  title = "Words";

  constructor({ name }) {
    const entries = Object.entries(WORDS).map(([code, [word, sentence]]) =>
      el("div", { class: code === name ? "word-entry chosen" : "word-entry", id: `word-${code}` }, el("dt", {}, word), el("dd", {}, sentence)));
    this.node = el("div", { class: "stack narrow" }, heading("Words", "What is meant by what stands here."), el("section", { class: "panel" }, el("dl", { class: "words" }, entries)));
    this.name = name;
  }

  load() {
    document.getElementById(`word-${this.name}`)?.scrollIntoView({ block: "center" });
  }

  refresh() {}
}
