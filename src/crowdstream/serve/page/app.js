// Puts the page together: who is signed in, which project, which view, and what is live.

import { get, post, whenSignedOut } from "/page/api.js";
import { el, replace, say, setText } from "/page/dom.js";
import { clock, rate } from "/page/format.js";
import { Live } from "/page/live.js";
import { trouble } from "/page/parts.js";
import * as route from "/page/route.js";
import { closeTip } from "/page/tips.js";
import { Alarms } from "/page/views/alarms.js";
import { Empty } from "/page/views/empty.js";
import { Exports } from "/page/views/exports.js";
import { Glossary } from "/page/views/glossary.js";
import { Login } from "/page/views/login.js";
import { Overview } from "/page/views/overview.js";
import { Projects } from "/page/views/projects.js";
import { Task } from "/page/views/task.js";
import { Tasks } from "/page/views/tasks.js";
import { Worker } from "/page/views/worker.js";
import { Workers } from "/page/views/workers.js";
import { CASES } from "/page/words.js";

const NAV = [["overview", "Overview"], ["tasks", "Tasks"], ["workers", "Workers"], ["alarms", "Alarms"], ["export", "Export"]];
const REFRESH = 1000; // milliseconds between two questions for what is not pushed
const LIST = 5000; // milliseconds between two looks for a first project
const DAY = 86400;

const main = document.getElementById("main");
const state = { session: null, projects: [], live: null, view: null, project: null, dirty: false, waiting: null };

const VIEWS = {
  overview: () => Overview, alarms: () => Alarms, export: () => Exports,
  tasks: (name) => (name === null ? Tasks : Task), workers: (name) => (name === null ? Workers : Worker),
};

// The frame around views ------------------------------------------------------------------------

const frame = (() => {
  const dot = el("span", { class: "dot", "aria-hidden": "true" });
  const status = el("span", {});
  const speed = el("span", { class: "wide" });
  const live = el("span", { class: "live" }, dot, el("span", {}, status, speed));
  const alarms = el("span", { class: "chip warn", hidden: true });
  const links = NAV.map(([view, title]) => el("a", { "data-view": view }, title, view === "alarms" ? alarms : null));
  const nav = el("nav", { "aria-label": "Views" }, links);
  const chooser = el("select", { "aria-label": "Project", onchange: () => (location.hash = chooser.value ? route.to(chooser.value, "overview") : "#/-/projects") });
  const theme = el("button", { type: "button", class: "quiet theme", onclick: turnTheme });
  const out = el("button", { type: "button", class: "quiet", onclick: signOut }, "Sign out");
  const brand = el("a", { href: "#/", class: "brand" }, el("img", { src: "/page/icon.svg", alt: "", width: 22, height: 22 }), "crowdstream");
  const tools = el("div", { class: "frame-tools" }, live, chooser, theme, out);
  replace(document.getElementById("top"), el("div", { class: "bar" }, brand, nav, tools));
  replace(document.getElementById("foot"), el("a", { href: "#/-/words" }, "Words"), el("a", { href: "/openapi.json" }, "Interface"), el("span", { class: "foot-note" }, `Intervals hold the truth in ${CASES} cases unless tasks fool most of the crowd, which only gold can show.`));
  return { status, speed, live, alarms, links, nav, chooser, theme, out };
})();

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function turnTheme() {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("crowdstream-theme", next);
  } catch {
    // It holds until the page is left.
  }
  showTheme();
}

function showTheme() {
  frame.theme.textContent = isDark() ? "Light" : "Dark";
  frame.theme.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
showTheme();

function showFrame() {
  const { project, view } = route.read();
  const inside = state.session !== null && state.project !== null;
  frame.nav.hidden = frame.live.hidden = !inside;
  frame.out.hidden = state.session === null || state.session.id === "-";
  for (const link of frame.links) {
    const name = link.dataset.view;
    link.href = route.to(state.project ?? "-", name);
    if (project === state.project && view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  frame.chooser.hidden = state.session === null || !state.projects.length;
  const names = state.projects.map((one) => one.project);
  const options = [...names.map((name) => el("option", { value: name }, name)), names.length > 1 ? el("option", { value: "" }, "All projects") : null];
  replace(frame.chooser, options);
  frame.chooser.value = state.project ?? "";
}

function showStatus() {
  const live = state.live;
  const lost = live?.lostAt ?? null;
  const box = document.getElementById("lost");
  box.hidden = lost === null;
  document.body.classList.toggle("stale", lost !== null);
  frame.live.classList.toggle("off", lost !== null);
  if (lost !== null) box.textContent = `No connection since ${clock(lost)}. What stands here is from then; trying again.`;
  const overview = live?.overview;
  setText(frame.status, lost !== null ? "not live" : overview ? "live" : "connecting", { marked: false });
  setText(frame.speed, lost === null && overview ? ` · ${rate(overview.labels_per_second)} labels/s` : "", { marked: false });
  if (!overview) return;
  const late = overview.alarms.filter((alarm) => alarm.at > Date.now() / 1000 - DAY).length;
  frame.alarms.hidden = !late;
  frame.alarms.textContent = String(late);
  frame.alarms.setAttribute("aria-label", `${late} in the last day`);
}

// Views -----------------------------------------------------------------------------------------

function setQuery(query, typing) {
  const { project, view, name } = route.read();
  const address = route.to(project, view, name, query);
  if (typing) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
}

async function show(view, { focus }) {
  closeTip();
  state.view = view;
  document.title = `${view.title} · ${state.project ? `${state.project} · ` : ""}crowdstream`;
  replace(main, view.node);
  if (focus) {
    scrollTo(0, 0);
    main.querySelector("h1")?.focus({ preventScroll: true });
  }
  await attempt(view, () => view.load());
  if (state.view === view) main.setAttribute("aria-busy", "false");
}

async function attempt(view, what) {
  try {
    await what();
  } catch (error) {
    if (state.view !== view || error.status === 401 || error.status === 0) return;
    if (error.status === undefined) console.error(error);
    fail(error, render);
  }
}

function fail(error, retry) {
  state.view = null;
  main.setAttribute("aria-busy", "false");
  replace(main, trouble(error, retry));
}

/** Show what the address asks for. */
async function render(event) {
  main.setAttribute("aria-busy", "true");
  const asked = location.hash;
  const focus = Boolean(event);
  const token = /^#token=(.+)$/.exec(asked);
  if (token) return signInBy(decodeURIComponent(token[1]));
  if (state.session === null) return signedOut();
  const wanted = route.read();
  clearTimeout(state.waiting);
  if (wanted.project === null && wanted.view === "words") return leave(new Glossary(partsOf(asked)), focus);
  if (wanted.project === null && asked.startsWith("#/-/")) return leave(new Projects(state), focus);
  const project = wanted.project ?? state.session.project ?? remembered() ?? state.projects[0]?.project ?? null;
  if (project === null) return waitForProject(focus);
  if (wanted.project === null) {
    history.replaceState(null, "", route.to(project, "overview"));
    return render(event);
  }
  if (state.project !== project) follow(project);
  showFrame();
  const overview = await overviewOf(project);
  if (asked !== location.hash || !overview) return null;
  const context = { ...wanted, session: state.session, setQuery, get overview() { return state.live?.overview ?? overview; } };
  const View = overview.labels || wanted.view === "export" ? VIEWS[wanted.view]?.(wanted.name) : Empty;
  if (!View) return fail({ status: 404, message: "There is no such view." }, null);
  await show(new View(context), { focus });
  return showFrame();
}

function partsOf(hash) {
  return { name: hash.split("/")[3] ?? null };
}

function leave(view, focus) {
  showFrame();
  return show(view, { focus });
}

function remembered() {
  const name = sessionStorage.getItem("crowdstream-project");
  return state.projects.some((one) => one.project === name) ? name : null;
}

/** The project's numbers: those that are live, or asked for once. */
async function overviewOf(project) {
  if (state.live?.overview) return state.live.overview;
  try {
    return await get(`/v1/projects/${encodeURIComponent(project)}`);
  } catch (error) {
    if (error.status !== 401) fail(error, render);
    return null;
  }
}

async function waitForProject(focus) {
  state.project = null;
  showFrame();
  if (!(state.view instanceof Empty)) await show(new Empty({ project: null, session: state.session }), { focus });
  state.waiting = setTimeout(async () => {
    try {
      await loadProjects();
    } catch {
      // Asked again in a moment.
    }
    if (state.session && state.view instanceof Empty) render();
  }, LIST / 2);
}

// What is live ----------------------------------------------------------------------------------

function follow(project) {
  state.live?.close();
  state.project = project;
  sessionStorage.setItem("crowdstream-project", project);
  const live = new Live(project);
  state.live = live;
  live.addEventListener("change", ({ detail }) => {
    if (state.live !== live) return;
    showStatus();
    const view = state.view;
    if (view instanceof Empty && live.overview.labels) return render();
    view?.change?.(detail);
    state.dirty = true;
    return null;
  });
  live.addEventListener("status", () => {
    showStatus();
    say(live.lostAt === null ? "Connected again" : "Connection lost");
    if (live.lostAt === null) state.dirty = true;
  });
  live.addEventListener("refused", () => get("/v1/session").catch(() => {})); // 401 leads to the login
  showStatus();
}

let asking = false;
setInterval(async () => {
  const view = state.view;
  if (!state.dirty || !view || asking || document.hidden || (state.live?.lostAt ?? null) !== null) return;
  state.dirty = false;
  asking = true;
  try {
    await view.refresh();
  } catch (error) {
    if (error.status === undefined) console.error(error);
  } finally {
    asking = false;
  }
}, REFRESH);

// Who is signed in ------------------------------------------------------------------------------

async function loadProjects() {
  const { projects } = await get("/v1/projects", { limit: 1000 });
  state.projects = projects;
}

async function begin(event) {
  try {
    state.session = await get("/v1/session");
    await loadProjects();
  } catch (error) {
    if (error.status !== 401) fail(error, begin);
    return;
  }
  await render(event);
}

async function signInBy(token) {
  history.replaceState(null, "", "#/"); // a token does not stay in the address
  try {
    await post("/login", { token });
  } catch {
    // It is asked for below.
  }
  await begin();
}

function signedOut() {
  state.session = null;
  state.live?.close();
  Object.assign(state, { live: null, project: null, projects: [] });
  showFrame();
  document.getElementById("lost").hidden = true;
  document.body.classList.remove("stale");
  if (!(state.view instanceof Login)) show(new Login({ signedIn: () => begin(true) }), { focus: false });
}

async function signOut() {
  await post("/logout", {}).catch(() => {});
  signedOut();
  say("signed out");
}

whenSignedOut(signedOut);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address belongs to the views
  main.focus();
});
addEventListener("hashchange", render);
if (location.hash.startsWith("#token=")) render();
else begin();
