// Prints ../width/width_table.go: the properties that xterm.js's grapheme addon gives
// to each character. Run: node widths.mjs > ../width/width_table.go && gofmt -w ../width/width_table.go

// While the grapheme addon is being loaded, no Buffers may share memory. The addon expects its table at the
// start of the memory of a Buffer. In shared memory, another Buffer can be there. The addon would then treat
// all characters beyond U+FFFF as narrow, even emoji.
Buffer.poolSize = 0;
const { default: headless } = await import('@xterm/headless');
const { default: graphemes } = await import('@xterm/addon-unicode-graphemes');

const term = new headless.Terminal({ allowProposedApi: true });
term.loadAddon(new graphemes.UnicodeGraphemesAddon());
const unicode = term._core.unicodeService;

const EXTEND = 2, WIDE = 16;
// These formatting characters take no cell. The addon gives them one cell. Programs that
// measure text, and xterm.js without the addon, give them none.
const invisible = [[0x200b, 0x200b], [0x200e, 0x200f], [0x202a, 0x202e], [0x2060, 0x2064], [0x2066, 0x206f]];

function property(cp) {
  if (invisible.some(([lo, hi]) => cp >= lo && cp <= hi)) return EXTEND;
  const v = unicode.charProperties(cp, 0);
  return ((v >> 3) & 15) | (((v >> 1) & 3) === 2 ? WIDE : 0);
}

const ranges = [];
for (let cp = 0xa0; cp <= 0x10ffff; cp++) {
  const p = property(cp), last = ranges.at(-1);
  if (last && last[1] === cp - 1 && last[2] === p) last[1] = cp;
  else if (p !== 0) ranges.push([cp, cp, p]);
}
console.log('// Written by oracle/widths.mjs from @xterm/addon-unicode-graphemes 0.4.0 (Unicode 15). DO NOT EDIT.\n');
console.log('package width\n');
console.log('// propertyRanges returns the ranges of all characters that have a property.');
console.log('func propertyRanges() []propertyRange {\n\treturn []propertyRange{');
for (let i = 0; i < ranges.length; i += 4) {
  console.log('\t\t' + ranges.slice(i, i + 4).map(([lo, hi, p]) => `{0x${lo.toString(16)}, 0x${hi.toString(16)}, ${p}},`).join(' '));
}
console.log('\t}\n}');
