// Shows what xterm.js makes of terminal output. The tests of package pty compare pty with these results.
// Only for development: see README.md.
//
//   node index.mjs cast FILE SHOTS > FILE.json   screens of a recording
//   node index.mjs pack FILE SHOTS DEST          writes DEST.cast and DEST.json: the recording
//                                                and its screens. The header has no facts
//                                                about the recording machine.
//   node index.mjs jobs < jobs.json > out.json   screens of byte strings
//   node index.mjs edges < edges.json > out.json screens of the edge cases, with
//                                                the styles of their cells
//   node index.mjs remake DIR                    makes all screens in ../testdata
//                                                again, at the same events
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';

// While the grapheme addon is being loaded, no Buffers may share memory. The addon expects its table at the
// start of the memory of a Buffer. In shared memory, another Buffer can be there. The addon would then treat
// all characters beyond U+FFFF as narrow, even emoji.
Buffer.poolSize = 0;
const { default: headless } = await import('@xterm/headless');
const { default: graphemes } = await import('@xterm/addon-unicode-graphemes');

function open(cols, rows, plain) {
  const windowOptions = { pushTitle: true, popTitle: true };
  const term = new headless.Terminal({ cols, rows, scrollback: 10000, allowProposedApi: true, logLevel: 'off', windowOptions });
  if (!plain) term.loadAddon(new graphemes.UnicodeGraphemesAddon());
  const state = { term, title: '', replies: '' };
  term.onTitleChange(t => { state.title = t; });
  term.onData(d => { state.replies += d; });
  return state;
}

// clamp limits the parameters of escape sequences to 9999, because xterm.js repeats a loop as often as a
// parameter says.
const clamp = s => s.replace(/\x1b\[[0-9;:<=>?]*/g, csi => csi.replace(/\d{5,}/g, '9999'));

const feed = (state, s) => state.term._core.writeSync(Buffer.from(clamp(s), 'utf8'));
const feedBytes = (state, b) => state.term._core.writeSync(Buffer.from(clamp(b.toString('latin1')), 'latin1'));

function shot(state, extra) {
  const { term } = state, buf = term.buffer.active, core = term._core;
  const line = y => (buf.getLine(y)?.translateToString(true, 0, term.cols) ?? '').replace(/ +$/, '');
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

// read returns the text of a file. It unpacks a file whose name ends with .gz.
const read = path => (path.endsWith('.gz') ? gunzipSync(readFileSync(path)) : readFileSync(path)).toString('utf8');

// renderCast plays a recording, and returns screens of it. If shots is a number, it returns that many screens.
// If shots is a list, it returns the screen after each event with a number in the list.
function renderCast(file, shots, plain) {
  const [head, ...events] = read(file).split('\n').filter(l => l).map(l => JSON.parse(l));
  const state = open(head.width ?? head.term.cols, head.height ?? head.term.rows, plain);
  const wanted = new Set(Array.isArray(shots) ? shots : [events.length - 1]);
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

function history({ term }) {
  const buf = term.buffer.active, out = [];
  for (let y = 0; y < buf.baseY; y++) out.push(buf.getLine(y).translateToString(true).replace(/ +$/, ''));
  return out;
}

function runJob({ cols, rows, data, then, plain }) {
  const state = open(cols, rows, plain);
  feedBytes(state, Buffer.from(data, 'base64'));
  if (then) state.term.resize(...then);
  const out = { ...shot(state, { history: history(state), replies: state.replies }), data };
  state.term.dispose();
  return out;
}

const hex = n => '#' + n.toString(16).padStart(6, '0');
const colour = (isDefault, isRGB, n) => isDefault ? '-' : isRGB ? hex(n) : String(n);
// For an underline (u), only the flag of the cell counts, because xterm.js also underlines links.
const attributes = {
  b: c => c.isBold(), f: c => c.isDim(), i: c => c.isItalic(), u: c => c.fg & 0x10000000, k: c => c.isBlink(),
  n: c => c.isInverse(), h: c => c.isInvisible(), s: c => c.isStrikethrough(), o: c => c.isOverline(),
};

function look(cell) {
  const fg = colour(cell.isFgDefault(), cell.isFgRGB(), cell.getFgColor());
  const bg = colour(cell.isBgDefault(), cell.isBgRGB(), cell.getBgColor());
  return `${fg}/${bg}` + Object.entries(attributes).map(([letter, is]) => is(cell) ? letter : '').join('');
}

// looks returns the styles of each row that has styles. The styles are runs of equal cells: "3:-/- 5:1/-b" is
// 3 plain cells and then 5 bold cells in colour 1.
function looks({ term }) {
  const buf = term.buffer.active, out = {};
  for (let y = 0; y < term.rows; y++) {
    const line = buf.getLine(buf.baseY + y), runs = [];
    for (let x = 0; x < term.cols; x++) {
      const s = look(line.getCell(x)), last = runs.at(-1);
      if (last && last[1] === s) last[0]++;
      else runs.push([1, s]);
    }
    if (runs.length > 1 || runs[0][1] !== '-/-') out[y] = runs.map(([n, s]) => `${n}:${s}`).join(' ');
  }
  return out;
}

function runEdge({ name, Cols, Rows, Plain, steps }) {
  const state = open(Cols, Rows, Plain);
  for (const { data, size } of steps) {
    if (size) state.term.resize(Math.max(size[0], 2), size[1]);
    else if (data) feedBytes(state, Buffer.from(data, 'base64'));
  }
  const { modes, ...seen } = shot(state, { history: history(state), replies: state.replies, looks: looks(state) });
  state.term.dispose();
  return { name, ...seen, on: Object.keys(modes).filter(m => modes[m]) };
}

// tryJob returns no result if xterm.js throws an error. It does so for some input, such as ED 1 at the end of
// the last row.
function tryJob(job) {
  try {
    return [runJob(job)];
  } catch {
    return [];
  }
}

const bigFile = 200_000; // bytes; larger files are packed with gzip

function save(path, text) {
  if (text.length > bigFile) writeFileSync(path + '.gz', gzipSync(text, { level: 9 }));
  else writeFileSync(path, text);
}

function pack(file, shots, dest) {
  const [first, ...events] = readFileSync(file, 'utf8').split('\n').filter(l => l);
  const { version, width, height, term } = JSON.parse(first);
  const head = version === 3 ? { version, term: { cols: term.cols, rows: term.rows } } : { version, width, height };
  save(dest + '.cast', [JSON.stringify(head), ...events, ''].join('\n'));
  save(dest + '.json', pretty(renderCast(file, shots)));
}

const pretty = list => '[\n' + list.map(s => '  ' + JSON.stringify(s)).join(',\n') + '\n]\n';

// remake reads all recordings and all judged byte strings in dir again, and overwrites the stored results.
function remake(dir) {
  const casts = dir + '/casts/';
  for (const name of readdirSync(casts).filter(f => /\.json(\.gz)?$/.test(f))) {
    const base = casts + name.replace(/\.json.*/, '');
    const events = JSON.parse(read(casts + name)).map(s => s.event);
    const cast = readdirSync(casts).find(f => f.startsWith(name.replace(/\.json.*/, '.cast')));
    save(base + '.json', pretty(renderCast(casts + cast, events)));
  }
  const judged = dir + '/judged.json.gz';
  writeFileSync(judged, gzipSync(JSON.stringify(JSON.parse(read(judged)).flatMap(tryJob)), { level: 9 }));
}

const input = () => JSON.parse(readFileSync(0, 'utf8'));
const [, , what, file, shots, more] = process.argv;
if (what === 'cast') console.log(JSON.stringify(renderCast(file, Number(shots), more === 'plain')));
else if (what === 'pack') pack(file, Number(shots), more);
else if (what === 'remake') remake(file);
else if (what === 'edges') process.stdout.write(gzipSync(pretty(input().map(runEdge)), { level: 9 }));
else console.log(JSON.stringify(input().flatMap(tryJob)));
