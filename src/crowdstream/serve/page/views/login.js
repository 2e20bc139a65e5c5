// Sign in with a token; the server answers with a cookie that no script can read.

import { post } from "/page/api.js";
import { el } from "/page/dom.js";
import { heading } from "/page/parts.js";

export class Login {
  title = "Sign in";

  constructor({ signedIn }) {
    this.signedIn = signedIn;
    this.problem = el("p", { class: "problem", role: "alert", id: "problem" });
    this.input = el("input", { type: "password", id: "token", name: "token", autocomplete: "current-password", required: true, spellcheck: "false", "aria-describedby": "problem hint" });
    this.button = el("button", { type: "submit", class: "main" }, "Sign in");
    const form = el("form", { class: "panel login" }, el("label", { for: "token" }, "Token"), this.input, this.problem, this.button,
      el("p", { class: "sub", id: "hint" }, "The server printed one when it first started; it is also in the file admin.token of its folder. ",
        el("code", {}, "crowdstream token create"), " makes more."));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send(this.input.value.trim());
    });
    this.node = el("div", { class: "stack narrow" }, heading("Sign in", "Labels, workers and decisions are behind a token."), form);
  }

  async send(token) {
    this.button.disabled = true;
    this.problem.textContent = "";
    try {
      await post("/login", { token });
      this.signedIn();
    } catch (error) {
      this.problem.textContent = error.status === 401 ? "This is not a token of this server." : `Cannot sign in: ${error.message}.`;
      this.input.select();
      this.input.focus();
    } finally {
      this.button.disabled = false;
    }
  }

  load() {
    this.input.focus();
  }

  refresh() {}
}
