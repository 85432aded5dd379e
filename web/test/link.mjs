// Returns the link that `coleo web` prints. The link signs in one browser, once. The variable COLEO can name
// another program than bin/coleo. The variable COLEO_DIR selects the instance.
import { execFileSync } from "node:child_process";

export function link() {
  const out = execFileSync(process.env.COLEO ?? "bin/coleo", ["--json", "web"], { encoding: "utf8" });
  return JSON.parse(out).dashboard;
}
