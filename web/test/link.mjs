// What `coleo web` prints: a link that signs one browser in, once. The program is
// COLEO, or bin/coleo; COLEO_DIR says which of them answers.
import { execFileSync } from "node:child_process";

export function link() {
  const out = execFileSync(process.env.COLEO ?? "bin/coleo", ["--json", "web"], { encoding: "utf8" });
  return JSON.parse(out).dashboard;
}
