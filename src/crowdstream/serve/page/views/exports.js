// Files to take away: decisions and workers, for a spreadsheet or a notebook.

import { projectPath } from "/page/api.js";
import { command, el } from "/page/dom.js";
import { count } from "/page/format.js";
import { heading, panel } from "/page/parts.js";
import { curlStart } from "/page/views/empty.js";

const KINDS = [["csv", "CSV"], ["ndjson", "NDJSON"], ["parquet", "Parquet"]];

export class Exports {
  title = "Export";

  constructor(context) {
    const { project, overview, session } = context;
    const links = (what, more = "", called = what) => el("p", { class: "files" }, KINDS.map(([kind, name]) =>
      el("a", { class: "button", href: `${projectPath(project)}/export/${what}?format=${kind}${more}`, download: `${project}-${what}.${kind}` }, name, el("span", { class: "hidden" }, ` of ${called}`))));
    const address = `${location.origin}${projectPath(project)}/export/decisions?format=csv`;
    this.node = el("div", { class: "stack" }, heading("Export", "The whole of it, as it is now."),
      el("div", { class: "columns even" },
        panel("Decisions", `${count(overview.tasks.closed)} closed tasks: label, how sure, labels used, why it closed, when.`, links("decisions")),
        panel("Probabilities", "The same rows with a column per class: its probability by what is known of the workers now.", links("decisions", "&probabilities=true", "probabilities")),
        panel("Workers", `${count(overview.workers)} workers: error rate with its interval, answers, weight, flags.`, links("workers"))),
      panel("From a terminal", null, command(`${curlStart(session)} "${address}"`, "Command to export decisions")));
  }

  load() {}

  refresh() {}
}
