// Nothing there yet: the command that changes that, ready to be copied.

import { command, el } from "/page/dom.js";
import { heading, Refusals } from "/page/parts.js";

const LABELS = [
  ["t1", "ann", "cat"], ["t1", "bob", "cat"], ["t1", "cem", "cat"],
  ["t2", "ann", "dog"], ["t2", "bob", "dog"], ["t2", "cem", "cat"],
];

/** How every command begins: with the token, where one is asked for. */
export function curlStart(session) {
  return session.id === "-" ? "curl -sS" : 'curl -sS -H "Authorization: Bearer $TOKEN"';
}

/** The commands that make a project (if it is not there) and post labels to it. */
export function commands(project, session, exists) {
  const address = `${location.origin}/v1/projects/${project}`;
  const start = curlStart(session);
  const rows = LABELS.map(([task, worker, label]) => `  {"task": "${task}", "worker": "${worker}", "label": "${label}"}`);
  const make = exists ? "" : `${start} -X PUT ${address} -d '{"max_labels": 7}'\n`;
  return `${make}${start} ${address}/labels -d '[\n${rows.join(",\n")}\n]'`;
}

export class Empty {
  title = "Start";

  constructor(context) {
    const { session } = context;
    const exists = context.project !== null;
    const project = context.project ?? session.project ?? "first";
    const token = session.id === "-" ? [] : [
      el("p", {}, "First the token that you signed in with:"), command("TOKEN=cs_…", "Command to set the token"),
    ];
    this.context = context;
    this.refusals = new Refusals(context.overview);
    this.node = el("div", { class: "stack narrow" },
      this.refusals.node, heading(exists ? "No labels yet" : "No project yet", exists ? `Project ${project} waits for its first label.` : "Make one and send it labels; this page follows by itself."),
      el("section", { class: "panel" }, token,
        el("p", {}, exists ? "Send some labels:" : "Make a project and send it some labels:"), command(commands(project, session, exists), "Command to send labels"),
        el("p", { class: "sub" }, "A label is a task, a worker and what the worker said. The answer is the decision on each task. All addresses: ", el("a", { href: "/openapi.json" }, "openapi.json"), ".")));
  }

  load() {}

  refresh() {}

  change() {
    this.refusals.update(this.context.overview);
  }
}
