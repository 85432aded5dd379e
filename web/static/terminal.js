// The live terminal of an arm: xterm.js over a WebSocket. The page asks for output by its
// offset, so a new connection continues where the last one broke. The terminal is read-only
// until the viewer takes control. Then keys go to the arm, and the prompts of others wait.

import { button, el, enable, setText, show } from "./dom.js";
import { armPath, call, socketURL } from "./http.js";
import { isFocusReport, load, mute, trim } from "./xterm.js";
import { Retry } from "./retry.js";

const backlog = 4 << 20; // bytes of earlier output that are shown; xterm reads them in a fraction of a second
const fonts = { tiny: 4, least: 10.5, most: 14 }; // px
const least = { cols: 80, rows: 24 }; // cells; the terminal is never smaller
const pingEvery = 20000; // ms

export class TerminalView {
  constructor(arm, { trouble }) {
    Object.assign(this, { arm, trouble, lease: "", at: -backlog, fresh: true, fit: false });
    this.retry = new Retry(() => this.connect());
    this.screen = el("div", { class: "screen" });
    this.frame = el("div", { class: "frame", tabIndex: 0, role: "region", "aria-label": "Terminal" }, this.screen);
    this.node = el("section", { class: "tty", "aria-label": "Terminal" }, this.bar(), this.frame);
    this.resized = new ResizeObserver(() => this.scale());
    this.begin();
  }

  bar() {
    this.status = el("p", { class: "status", role: "status", text: "Connecting" });
    this.size = el("span", { class: "muted" });
    this.control = button("Take control", () => this.toggleControl(), { title: "Type into the terminal by hand. Meanwhile, the prompts of others wait" });
    this.match = button("Match window", () => this.matchWindow(), { class: "match", hidden: true, title: "Give the terminal the size of this window" });
    this.zoom = button("Fit width", () => this.toggleFit(), { "aria-pressed": "false", title: "Show whole lines, however small" });
    return el("div", { class: "bar" }, this.status, this.size, el("span", { class: "gap" }), this.zoom, this.match, this.control);
  }

  async begin() {
    try {
      this.xterm = await load();
    } catch {
      this.missing();
      return;
    }
    if (this.closed) return;
    this.term = this.xterm.open(this.screen);
    mute(this.term);
    this.term.onData((text) => isFocusReport(text) || this.type(new TextEncoder().encode(text)));
    this.term.onBinary((text) => this.type(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    this.term.attachCustomKeyEventHandler((e) => this.key(e));
    this.resized.observe(this.frame);
    this.connect();
  }

  missing() {
    setText(this.status, "No live terminal");
    for (const b of [this.control, this.zoom]) show(b, false);
    this.frame.replaceChildren(el("p", { class: "empty" },
      "This coleo was built without xterm.js, so there is no live terminal here. Build it with ", el("code", { text: "make web build" }),
      ", or use ", el("code", { text: `coleo arm attach ${this.arm.name}` }), ". Everything else on this page works."));
  }

  async connect() {
    if (this.closed) return;
    this.socket = null;
    const attempt = (this.attempt = {}); // if a later attempt has replaced this one, this one gives up
    let url;
    try {
      url = await socketURL(`/ws/terminal/${encodeURIComponent(this.arm.id)}?from=${this.at}`);
    } catch {
      if (this.attempt === attempt && !this.closed) this.again();
      return;
    }
    if (this.attempt === attempt && !this.closed) this.listen(new WebSocket(url));
  }

  listen(socket) {
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    this.ended = false;
    const ping = setInterval(() => this.say({ type: "ping" }), pingEvery);
    socket.onmessage = (m) => (typeof m.data === "string" ? this.hear(JSON.parse(m.data)) : this.write(new Uint8Array(m.data)));
    socket.onclose = () => {
      clearInterval(ping);
      if (this.socket !== socket || this.closed) return;
      this.setLease(null);
      if (!this.ended) this.again();
    };
  }

  again() {
    setText(this.status, "Reconnecting");
    this.retry.again();
  }

  hear(m) {
    switch (m.type) {
      case "offset":
        this.retry.reset();
        this.startAt(m.offset);
        break;
      case "size":
        this.term.resize(m.cols, m.rows);
        setText(this.size, `${m.cols} × ${m.rows}`);
        this.scale();
        break;
      case "lease":
        this.setLease(m.lease ?? null);
        break;
      case "end":
        this.ended = true;
        setText(this.status, "Ended");
        break;
      case "error":
        this.complain(m.error);
    }
  }

  complain(error) {
    if (error.code === "not_found" || error.code === "exited") {
      this.ended = true;
      setText(this.status, "No terminal");
      return;
    }
    if (error.code !== "unavailable") this.trouble(error);
  }

  /** Notes the offset at which the next output begins. */
  startAt(offset) {
    setText(this.status, "Live");
    if (offset !== this.at) {
      this.term.reset();
      this.fresh = offset > 0;
      if (this.fresh) this.enterScreen();
    } else {
      this.fresh = false;
    }
    this.at = offset;
  }

  /** Switches to the alternate screen if the arm shows it, because the received output may begin after the switch. */
  async enterScreen() {
    try {
      const { alt } = await call("GET", armPath(this.arm, "/screen"));
      if (alt && this.term.buffer.active.type === "normal") this.term.write("\x1b[?1049h");
    } catch {
      // The right screen then appears only when the agent CLI draws the next time.
    }
  }

  write(data) {
    this.at += data.length;
    const text = this.fresh ? trim(data) : data;
    if (text.length) this.fresh = false;
    this.term.write(text, () => this.reveal());
  }

  /** Scrolls to the last rows, if the frame is too low for the whole terminal. */
  reveal() {
    const cell = this.xterm.cell();
    if (!cell || this.frame.scrollHeight <= this.frame.clientHeight || this.frame.matches(":hover, :focus")) return;
    this.frame.scrollTop = Math.max(0, (this.xterm.lastRow() + 1) * cell.height + 8 - this.frame.clientHeight);
  }

  update(arm) {
    const again = arm.generation !== this.arm.generation;
    this.arm = arm;
    const alive = arm.status !== "stopped";
    enable(this.control, Boolean(this.lease) || (alive && !this.ended), alive ? this.control.title : "The arm is stopped.");
    if (again && this.term) this.restart();
  }

  /** Shows the terminal of the arm's new start. Each start of an arm has a separate terminal. */
  restart() {
    this.at = 0;
    this.fresh = false;
    this.term.reset();
    this.retry.stop();
    const old = this.socket;
    this.connect();
    old?.close();
  }

  say(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  type(bytes) {
    if (this.lease && this.socket?.readyState === WebSocket.OPEN) this.socket.send(bytes);
  }

  key(e) {
    if (e.type === "keydown" && e.ctrlKey && e.altKey && e.code === "KeyX" && this.lease) {
      this.toggleControl();
      return false;
    }
    return true;
  }

  toggleControl() {
    this.say(this.lease ? { type: "release" } : { type: "lease", holder: "the dashboard" });
  }

  setLease(lease) {
    clearTimeout(this.lapse);
    this.lease = lease?.id ?? "";
    if (!this.term) return;
    this.term.options.disableStdin = !lease;
    this.term.options.cursorBlink = Boolean(lease);
    this.node.dataset.control = String(Boolean(lease));
    setText(this.control, lease ? "Release control" : "Take control");
    this.control.title = lease ? "Ctrl+Alt+X also releases control" : "Type into the terminal by hand. Meanwhile, the prompts of others wait";
    show(this.match, Boolean(lease));
    if (!lease) return;
    this.term.focus();
    const left = Date.parse(lease.until) - Date.now();
    if (left > 0 && left < 2 ** 31) this.lapse = setTimeout(() => this.setLease(null), left);
  }

  matchWindow() {
    const fits = this.xterm.proposed();
    if (fits) this.say({ type: "resize", cols: Math.max(least.cols, fits.cols), rows: Math.max(least.rows, fits.rows) });
  }

  toggleFit() {
    this.fit = !this.fit;
    this.zoom.setAttribute("aria-pressed", String(this.fit));
    this.scale();
  }

  /** Chooses the font size with which the terminal fits into its frame. */
  scale() {
    if (!this.term || !this.frame.clientWidth) return;
    const now = this.term.options.fontSize;
    const cell = this.xterm.cell();
    if (!cell) return;
    const wide = (this.frame.clientWidth - 14) / (this.term.cols * (cell.width / now));
    const high = (this.frame.clientHeight - 8) / (this.term.rows * (cell.height / now));
    const best = this.fit ? wide : Math.max(fonts.least, Math.min(wide, high));
    const size = Math.max(fonts.tiny, Math.floor(Math.min(fonts.most, best) * 2) / 2);
    if (size !== now) this.term.options.fontSize = size;
    this.reveal();
  }

  close() {
    this.closed = true;
    this.retry.end();
    clearTimeout(this.lapse);
    this.resized.disconnect();
    this.socket?.close();
    this.term?.dispose();
  }
}
