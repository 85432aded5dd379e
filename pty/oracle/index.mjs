// xterm.js as the judge of package pty. Development only; see README.md.
//
//   node index.mjs cast FILE SHOTS > FILE.json   screens of a recording
//   node index.mjs pack FILE SHOTS DEST          both, without what the header
//                                                says of the recording machine
//   node index.mjs jobs < jobs.json > out.json   screens of byte strings
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

// The addon reads its table from the start of the memory behind a Buffer. Where
// Buffers share memory that is another's, and it takes all characters beyond
// U+FFFF for narrow ones, emoji too. So let none be shared before it is loaded.
Buffer.poolSize = 0;
const { default: headless } = await import('@xterm/headless');
const { default: graphemes } = await import('@xterm/addon-unicode-graphemes');

function open(cols, rows, plain) {
  const term = new headless.Terminal({ cols, rows, scrollback: 10000, allowProposedApi: true, logLevel: 'off' });
  if (!plain) term.loadAddon(new graphemes.UnicodeGraphemesAddon());
  const state = { term, title: '', replies: '' };
  term.onTitleChange(t => { state.title = t; });
  term.onData(d => { state.replies += d; });
  return state;
}

// xterm.js loops as often as a parameter says.
const clamp = s => s.replace(/\x1b\[[0-9;:<=>?]*/g, csi => csi.replace(/\d{5,}/g, '9999'));

const feed = (state, s) => state.term._core.writeSync(Buffer.from(clamp(s), 'utf8'));
const feedBytes = (state, b) => state.term._core.writeSync(Buffer.from(clamp(b.toString('latin1')), 'latin1'));

function shot(state, extra) {
  const { term } = state, buf = term.buffer.active, core = term._core;
  const line = y => (buf.getLine(y)?.translateToString(true) ?? '').replace(/ +$/, '');
  const lines = [];
  for (let y = 0; y < term.rows; y++) lines.push(line(buf.baseY + y));
  const m = term.modes;
  return {
    cols: term.cols, rows: term.rows, lines,
    cursor: [buf.cursorX, buf.cursorY],
    alt: buf.type === 'alternate',
    title: state.title,
    modes: {
      application_cursor: m.applicationCursorKeysMode, application_keypad: m.applicationKeypadMode,
      bracketed_paste: m.bracketedPasteMode, insert: m.insertMode, origin: m.originMode,
      reverse_wrap: m.reverseWraparoundMode, focus: m.sendFocusMode,
      synchronized: m.synchronizedOutputMode, wrap: m.wraparoundMode,
      mouse_x10: m.mouseTrackingMode === 'x10', mouse_click: m.mouseTrackingMode === 'vt200',
      mouse_drag: m.mouseTrackingMode === 'drag', mouse_motion: m.mouseTrackingMode === 'any',
      cursor_visible: !core.coreService.isCursorHidden,
    },
    ...extra,
  };
}

function renderCast(file, shots, plain) {
  const [head, ...events] = readFileSync(file, 'utf8').split('\n').filter(l => l).map(l => JSON.parse(l));
  const state = open(head.width ?? head.term.cols, head.height ?? head.term.rows, plain);
  const wanted = new Set([events.length - 1]);
  for (let i = 1; i < shots; i++) wanted.add(Math.floor(i * events.length / shots));
  const out = [];
  events.forEach(([, kind, data], i) => {
    if (kind === 'o') feed(state, data);
    if (kind === 'r') state.term.resize(...data.split('x').map(Number));
    if (wanted.has(i) || kind === 'm') out.push(shot(state, { event: i, ...(kind === 'm' ? { mark: data } : {}) }));
  });
  state.term.dispose();
  return out;
}

function runJob({ cols, rows, data, then, plain }) {
  const state = open(cols, rows, plain);
  feedBytes(state, Buffer.from(data, 'base64'));
  if (then) state.term.resize(...then);
  const buf = state.term.buffer.active, history = [];
  for (let y = 0; y < buf.baseY; y++) history.push(buf.getLine(y).translateToString(true).replace(/ +$/, ''));
  const out = { ...shot(state, { history, replies: state.replies }), data };
  state.term.dispose();
  return out;
}

// xterm.js throws on some, as ED 1 at the end of the last row: no verdict.
function tryJob(job) {
  try {
    return [runJob(job)];
  } catch {
    return [];
  }
}

const bigFile = 200_000; // bytes; larger ones are packed

function save(path, text) {
  if (text.length > bigFile) writeFileSync(path + '.gz', gzipSync(text, { level: 9 }));
  else writeFileSync(path, text);
}

function pack(file, shots, dest) {
  const [first, ...events] = readFileSync(file, 'utf8').split('\n').filter(l => l);
  const { version, width, height, term } = JSON.parse(first);
  const head = version === 3 ? { version, term: { cols: term.cols, rows: term.rows } } : { version, width, height };
  save(dest + '.cast', [JSON.stringify(head), ...events, ''].join('\n'));
  const screens = renderCast(file, shots).map(s => '  ' + JSON.stringify(s));
  save(dest + '.json', '[\n' + screens.join(',\n') + '\n]\n');
}

const [, , what, file, shots, more] = process.argv;
if (what === 'cast') console.log(JSON.stringify(renderCast(file, Number(shots), more === 'plain')));
else if (what === 'pack') pack(file, Number(shots), more);
else console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).flatMap(tryJob)));
