// The main module of the page. It connects the parts of the page, and shows the arm that the address names.

import { ArmView } from "./arm.js";
import { el, setText, show } from "./dom.js";
import { count } from "./format.js";
import { List } from "./list.js";
import { display } from "./rules.js";
import { SpawnForm } from "./spawn.js";
import { Store } from "./store.js";
import { load } from "./xterm.js";

const byId = (id) => document.getElementById(id);
const links = {
  connecting: "Connecting",
  live: "Live",
  lost: "Connection lost, trying again",
  refused: "Signed out",
};

const settled = 1000; // ms after which the page has shown its first data
const narrow = matchMedia("(max-width: 760px)");
const store = new Store();
const list = new List(byId("arms"), byId("hosts"), store);
const form = new SpawnForm(byId("spawn"), store, { trouble, open: go });
let view = null;

/** Shows an error in one line. The line stays until the user or the next action removes it. */
function trouble(e) {
  const message = typeof e === "string" ? e : (e?.message ?? "");
  setText(byId("trouble").firstElementChild, message);
  show(byId("trouble"), message !== "");
}

function go(name) {
  location.hash = name ? `#/arm/${encodeURIComponent(name)}` : "#/";
}

function wanted() {
  const found = location.hash.match(/^#\/arm\/(.+)$/);
  return found ? decodeURIComponent(found[1]) : "";
}

/** Shows the arm that the address names. */
function route() {
  const name = wanted();
  const arm = name ? store.find(name) : null;
  document.body.dataset.view = name ? "arm" : "list";
  if (view && (!arm || view.id !== arm.id)) {
    view.close();
    view = null;
  }
  if (arm && !view) {
    view = new ArmView(byId("arm"), arm, store, { trouble, leave: () => go("") });
    trouble("");
    if (narrow.matches) byId("arm").querySelector("h1").focus({ preventScroll: true }); // the row that had the focus is hidden now
  }
  if (!view) byId("arm").replaceChildren(placeholder(name));
  list.select(arm?.id ?? null);
  document.title = arm ? `${arm.name} · Coleo` : "Coleo";
  view?.update(arm);
}

function placeholder(name) {
  if (name && store.known) return el("p", { class: "empty", text: `There is no arm called “${name}”.` });
  if (name || !store.known) return el("p", { class: "empty", text: "Loading…" });
  return el("p", { class: "empty", text: store.arms.size ? "Choose an arm to see its terminal." : "" });
}

function summarise() {
  const tones = [...store.arms.values()].map((a) => display(a).tone);
  const asking = tones.filter((t) => t === "ask").length;
  const bad = tones.filter((t) => t === "bad").length;
  const working = tones.filter((t) => t === "work").length;
  const parts = [];
  if (asking) parts.push(`${count(asking, "arm")} ${asking === 1 ? "waits" : "wait"} for you`);
  if (bad) parts.push(`${bad} in trouble`);
  if (working) parts.push(`${working} working`);
  if (!parts.length && store.known) parts.push(count(tones.length, "arm"));
  setText(byId("summary"), parts.join(", "));
  byId("summary").dataset.tone = asking ? "ask" : bad ? "bad" : "";
}

store.addEventListener("arms", () => {
  list.update();
  summarise();
  route();
});
store.addEventListener("link", () => {
  setText(byId("link"), links[store.link]);
  byId("link").dataset.link = store.link;
  if (store.link === "live") view?.wake();
  if (store.link === "refused") trouble("This page is signed out: open the link that “coleo web” prints.");
});
addEventListener("hashchange", route);
byId("trouble").lastElementChild.addEventListener("click", () => trouble(""));
byId("new").addEventListener("click", () => form.show());
setInterval(() => {
  list.tick();
  view?.tick();
}, 1000);

list.update();
route();
store.start();
setTimeout(() => load().catch(() => {}), settled); // loads xterm.js early; if this fails, the view of an arm reports it
