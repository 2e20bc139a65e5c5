// Light or dark as the reader last chose, before anything is drawn; else as the system says.
// Not a module, so that it runs at once and no wrong colour flashes by.
"use strict";
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("crowdstream-theme");
  } catch {
    // Storage may be forbidden: the system's choice holds.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
