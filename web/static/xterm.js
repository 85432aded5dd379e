// Loads xterm.js, and adapts it to this page.

const theme = {
  background: "#14161a", foreground: "#d8dade", cursor: "#d8dade", cursorAccent: "#14161a", selectionBackground: "#3a5a52",
  black: "#23262c", red: "#e5786d", green: "#7fbf8f", yellow: "#d9b15f", blue: "#7aa6e0", magenta: "#c08fd0", cyan: "#6fbfbf", white: "#d8dade",
  brightBlack: "#7a808a", brightRed: "#f0958b", brightGreen: "#9ad4a8", brightYellow: "#eacb85", brightBlue: "#9cc0f0", brightMagenta: "#d6afe2", brightCyan: "#93d6d6", brightWhite: "#ffffff",
};

let parts = null;

/**
 * Loads xterm.js from the server. It fails if this build does not contain xterm.js. Only the first call, soon
 * after the page's start, fetches the scripts. Later calls must not fetch them: if serve is down, another
 * program could have taken serve's address, and this page must not run a script of that program.
 */
export async function load() {
  parts ??= Promise.all([
    import("/dist/xterm.mjs"), import("/dist/addon-fit.mjs"), import("/dist/addon-unicode11.mjs"), style("/dist/xterm.css"),
  ]);
  const [{ Terminal }, { FitAddon }, { Unicode11Addon }] = await parts;
  return new Kit(Terminal, FitAddon, Unicode11Addon);
}

function style(href) {
  const there = document.querySelector(`link[href="${href}"]`);
  if (there) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href, onload: resolve, onerror: reject });
    document.head.append(link);
  });
}

class Kit {
  constructor(Terminal, FitAddon, Unicode11Addon) {
    Object.assign(this, { Terminal, FitAddon, Unicode11Addon });
  }

  /** Opens a terminal in an element. */
  open(element) {
    this.term = new this.Terminal({
      allowProposedApi: true, cols: 120, rows: 40, disableStdin: true, scrollback: 5000, fontSize: 13, lineHeight: 1.15,
      fontFamily: getComputedStyle(document.body).getPropertyValue("--mono"), theme, minimumContrastRatio: 1,
    });
    this.fit = new this.FitAddon();
    this.term.loadAddon(this.fit);
    this.term.loadAddon(new this.Unicode11Addon());
    this.term.unicode.activeVersion = "11";
    this.term.open(element);
    return this.term;
  }

  /** Returns the size, in cells, that fills the element. */
  proposed() {
    return this.fit.proposeDimensions();
  }

  /** Returns the last row with text, or the row of the cursor if that is lower. */
  lastRow() {
    const buffer = this.term.buffer.active;
    for (let row = this.term.rows - 1; row > buffer.cursorY; row--) {
      if (buffer.getLine(buffer.baseY + row)?.translateToString(true)) return row;
    }
    return buffer.cursorY;
  }

  /** Returns the size of one cell, in px. */
  cell() {
    const row = this.term.element?.querySelector(".xterm-screen");
    if (!row?.clientWidth) return null;
    return { width: row.clientWidth / this.term.cols, height: row.clientHeight / this.term.rows };
  }
}

/**
 * Prevents xterm.js from answering the queries of the agent CLI. The arm's own terminal has
 * already answered them. A second answer would be typed into the agent CLI.
 */
export function mute(term) {
  const swallow = () => true;
  const p = term.parser;
  const csi = [
    { final: "c" }, { prefix: ">", final: "c" }, { prefix: "=", final: "c" }, // device attributes
    { final: "n" }, { prefix: "?", final: "n" }, // status, cursor position
    { intermediates: "$", final: "p" }, { prefix: "?", intermediates: "$", final: "p" }, // modes
    { prefix: ">", final: "q" }, { prefix: "?", final: "u" }, // version, keyboard
    { final: "t" }, // window
  ];
  csi.forEach((id) => p.registerCsiHandler(id, swallow));
  p.registerDcsHandler({ intermediates: "$", final: "q" }, swallow);
  p.registerDcsHandler({ intermediates: "+", final: "q" }, swallow);
  [4, 10, 11, 12].forEach((code) => p.registerOscHandler(code, (data) => data.includes("?")));
  [0, 1, 2, 52].forEach((code) => p.registerOscHandler(code, swallow));
}

/** Reports whether the text is a focus report of this viewer's window. The agent CLI must not get it. */
export function isFocusReport(text) {
  return text === "\x1b[I" || text === "\x1b[O";
}

/**
 * Removes the bytes before the first line end or escape sequence. If the page gets the output only from some
 * offset on, the first bytes may be the rest of a character or of an escape sequence.
 */
export function trim(data) {
  const start = data.findIndex((b) => b === 0x1b || b === 0x0a);
  return start < 0 ? data.subarray(data.length) : data.subarray(start);
}
