// One sentence beside a word: on hover, on focus, on a tap; Escape closes it.

import { el, replace } from "/page/dom.js";
import { TONES, WORDS } from "/page/words.js";

const tip = document.getElementById("tip");
let owner = null;
let closing = null;

function place(button) {
  const box = button.getBoundingClientRect();
  const width = Math.min(300, innerWidth - 24);
  tip.style.width = `${width}px`;
  const left = Math.max(12, Math.min(box.left, innerWidth - width - 12));
  tip.style.left = `${left + scrollX}px`;
  const below = box.bottom + 8 + tip.offsetHeight < innerHeight || box.top < tip.offsetHeight + 12;
  tip.style.top = `${(below ? box.bottom + 8 : box.top - tip.offsetHeight - 8) + scrollY}px`;
}

function open(button, code) {
  clearTimeout(closing);
  owner?.removeAttribute("aria-describedby");
  owner = button;
  replace(tip, el("span", {}, WORDS[code][1]), " ", el("a", { href: `#/-/words/${code}` }, "All words"));
  tip.hidden = false;
  button.setAttribute("aria-describedby", "tip");
  place(button);
}

export function closeTip() {
  owner?.removeAttribute("aria-describedby");
  tip.hidden = true;
  owner = null;
}

function closeSoon() {
  clearTimeout(closing);
  closing = setTimeout(closeTip, 200);
}

tip.addEventListener("mouseenter", () => clearTimeout(closing));
tip.addEventListener("mouseleave", closeSoon);
addEventListener("keydown", (event) => event.key === "Escape" && closeTip());
addEventListener("scroll", () => owner && closeSoon(), { passive: true, capture: true });

/** A word that explains itself. */
export function word(code, text = WORDS[code][0], kind = "word") {
  const button = el("button", { type: "button", class: kind }, text);
  button.addEventListener("mouseenter", () => open(button, code));
  button.addEventListener("mouseleave", closeSoon);
  button.addEventListener("focus", () => open(button, code));
  button.addEventListener("blur", closeSoon);
  button.addEventListener("click", () => open(button, code));
  return button;
}

/** A word as a chip, coloured by how grave it is; the word says it too. */
export function chip(code, text) {
  return word(code, text, `chip ${TONES[code] ?? ""}`.trim());
}
