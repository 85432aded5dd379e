// The data of the page: the latest rows of the arms from the server. The parts of the page
// listen to the store.

import { call, socketURL } from "./http.js";
import { forgetNonce } from "./key.js";
import { Retry } from "./retry.js";

const atOnce = 4; // the number of displays that are requested at the same time
const refreshEvery = 15000; // ms; the health of an arm can change without an event

export class Store extends EventTarget {
  constructor() {
    super();
    this.arms = new Map();
    this.displays = new Map(); // what each arm does now, by the id of the arm
    this.harnesses = new Map();
    this.hosts = [];
    this.link = "connecting"; // "live", "lost" or "refused"
    this.cursor = ""; // the cursor of the last event; a new connection asks for the events after it
    this.known = false; // true once the server has sent the arms
    this.retry = new Retry(() => this.connect());
  }

  start() {
    this.connect();
    this.loadFleet();
    setInterval(() => {
      if (!document.hidden && this.link === "live") this.refresh();
    }, refreshEvery);
  }

  /** Returns the arm with this name or id. */
  find(name) {
    return [...this.arms.values()].find((a) => a.name === name) ?? this.arms.get(name);
  }

  capabilities(arm) {
    return this.harnesses.get(arm.harness)?.capabilities;
  }

  async connect() {
    let url;
    try {
      url = await socketURL("/ws");
    } catch {
      this.lost();
      return;
    }
    const socket = new WebSocket(url);
    socket.onopen = () => socket.send(JSON.stringify({ type: "subscribe", channel: "all", after: this.cursor }));
    socket.onmessage = (m) => this.hear(JSON.parse(m.data), socket);
    socket.onclose = () => this.lost();
  }

  hear(m, socket) {
    if (m.type === "error" && this.cursor) {
      this.cursor = ""; // serve has a new log, which does not contain the event of the cursor
      socket.close();
      return;
    }
    this.cursor = m.cursor || this.cursor;
    switch (m.event) {
      case "arms.snapshot":
        this.retry.reset();
        this.setLink("live");
        this.replace(m.data.arms);
        this.loadDisplays();
        break;
      case "arm.created":
      case "arm.updated":
        this.put(m.data);
        break;
      case "arm.deleted":
        this.arms.delete(m.data.id);
        this.displays.delete(m.data.id);
        this.changed();
        break;
      case "display.changed":
        this.displays.set(m.data.arm, m.data);
        this.changed();
        break;
      default:
        if (m.channel === "arm-events") this.dispatchEvent(new CustomEvent("log", { detail: m.data }));
    }
  }

  put(arm) {
    arm.told = Date.now();
    this.arms.set(arm.id, arm);
    this.changed();
  }

  replace(arms) {
    const told = Date.now();
    this.arms = new Map(arms.map((a) => [a.id, { ...a, told }]));
    this.known = true;
    this.changed();
  }

  /** Asks for the arms again. It keeps rows and removals that arrived after the request was sent. */
  async refresh() {
    const asked = Date.now();
    const before = new Set(this.arms.keys());
    try {
      const { arms } = await call("GET", "/api/arms?includeAll=true");
      const removed = (a) => before.has(a.id) && !this.arms.has(a.id); // the answer can be older than the removal
      const newer = [...this.arms.values()].filter((a) => a.told > asked);
      this.replace(arms.filter((a) => !removed(a)));
      newer.forEach((a) => this.arms.set(a.id, a));
      this.loadFleet();
    } catch (e) {
      if (e.code === "unauthorized") this.setLink("refused");
    }
  }

  /** Asks what each arm does. After that, the server sends only changes. */
  async loadDisplays() {
    const asked = new Set();
    const todo = [...this.arms.values()].filter((a) => a.status !== "stopped").map((a) => a.id);
    const one = async () => {
      for (let id = todo.shift(); id; id = todo.shift()) {
        const before = this.displays.get(id);
        try {
          const display = await call("GET", `/api/arms/${encodeURIComponent(id)}/display`);
          if (this.displays.get(id) === before) this.displays.set(id, display); // no newer display has arrived meanwhile
          asked.add(id);
        } catch {
          // The arm may no longer exist. Without a display, its line stays empty.
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, one));
    if (asked.size > 0) this.changed();
  }

  async loadFleet() {
    try {
      const [{ harnesses }, { agents }] = await Promise.all([call("GET", "/api/harnesses"), call("GET", "/api/agents")]);
      this.harnesses = new Map(harnesses.map((h) => [h.name, h]));
      this.hosts = agents;
      this.changed();
    } catch {
      // The page already shows that the connection is lost. The old data stays.
    }
  }

  /**
   * Notes that the connection is lost. A page cannot see why a WebSocket was refused. So lost calls the API, whose
   * answer shows whether this browser is signed out.
   */
  async lost() {
    this.setLink("lost");
    forgetNonce();
    try {
      await call("GET", "/api/agents");
    } catch (e) {
      if (e.code === "unauthorized" || e.code === "forbidden") {
        this.setLink("refused");
        return;
      }
    }
    this.retry.again();
  }

  setLink(link) {
    if (this.link === link) return;
    this.link = link;
    this.dispatchEvent(new Event("link"));
  }

  changed() {
    this.dispatchEvent(new Event("arms"));
  }
}
