// What the server pushes of one project (server-sent events), put together: views listen here.
// Says since when it has been cut off, and comes back by itself.

import { projectPath } from "/page/api.js";

const AGAIN = 2000; // milliseconds after which a refused connection is tried again

export class Live extends EventTarget {
  constructor(project) {
    super();
    this.project = project;
    this.overview = null;
    this.lostAt = null;
    this.open();
  }

  open() {
    this.source = new EventSource(`${projectPath(this.project)}/events`);
    this.source.addEventListener("state", (event) => this.take(event, true));
    this.source.addEventListener("change", (event) => this.take(event, false));
    this.source.onopen = () => this.found();
    this.source.onerror = () => this.lose();
  }

  take(event, whole) {
    const change = JSON.parse(event.data);
    this.overview = whole ? change.overview : { ...this.overview, ...change.overview };
    change.whole = whole;
    this.found();
    this.dispatchEvent(new CustomEvent("change", { detail: change }));
  }

  found() {
    if (this.lostAt === null) return;
    this.lostAt = null;
    this.dispatchEvent(new Event("status"));
  }

  lose() {
    if (this.lostAt === null) {
      this.lostAt = Date.now();
      this.dispatchEvent(new Event("status"));
    }
    if (this.source.readyState === EventSource.CLOSED) {
      // Refused with an error, so the browser gives up: perhaps a proxy, perhaps signed out.
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.open(), AGAIN);
      this.dispatchEvent(new Event("refused"));
    }
  }

  close() {
    clearTimeout(this.timer);
    this.source.close();
  }
}
