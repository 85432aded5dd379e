// Copies the terminal's code from node_modules into dist/. The Go build embeds dist/.
// Run `npm ci` first, because this script fetches nothing.
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const files = {
  "xterm.mjs": "@xterm/xterm/lib/xterm.mjs",
  "xterm.css": "@xterm/xterm/css/xterm.css",
  "xterm.LICENSE": "@xterm/xterm/LICENSE",
  "addon-fit.mjs": "@xterm/addon-fit/lib/addon-fit.mjs",
  "addon-fit.LICENSE": "@xterm/addon-fit/LICENSE",
  "addon-unicode11.mjs": "@xterm/addon-unicode11/lib/addon-unicode11.mjs",
  "addon-unicode11.LICENSE": "@xterm/addon-unicode11/LICENSE",
};

mkdirSync(join(here, "dist"), { recursive: true });
for (const [to, from] of Object.entries(files)) {
  const source = join(here, "node_modules", from);
  if (!existsSync(source)) {
    console.error(`${from} is not there: run npm ci in web/ first`);
    process.exit(1);
  }
  copyFileSync(source, join(here, "dist", to));
}
