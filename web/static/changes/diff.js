// Reads the diff of an arm's files for the page. It makes no elements.

/** The largest number of rows that the page shows of one file. */
export const mostRows = 2000;

/** Returns the bytes of the patch. */
export function patchOf(diff) {
  return Uint8Array.from(atob(diff.patch ?? ""), (c) => c.charCodeAt(0));
}

/**
 * Returns the rows of a hunk. Each has a kind ("same", "added", "deleted" or "note"), a text, and the numbers
 * of its line before and after the change. A number is 0 if there is no such line.
 */
export function rowsOf(patch, hunk) {
  const text = new TextDecoder().decode(patch.subarray(hunk.offset, hunk.offset + hunk.length));
  const lines = text.replace(/\n$/, "").split("\n").slice(1); // the first line is the @@ of the hunk
  let before = hunk.oldStart;
  let after = hunk.newStart;
  return lines.map((line) => {
    const rest = visible(line.slice(1));
    if (line[0] === "+") return { kind: "added", before: 0, after: after++, text: rest };
    if (line[0] === "-") return { kind: "deleted", before: before++, after: 0, text: rest };
    if (line[0] === "\\") return { kind: "note", before: 0, after: 0, text: rest.trim() };
    return { kind: "same", before: before++, after: after++, text: rest };
  });
}

// Characters that a browser does not show, or that change the order of other characters. A line feed and a tab are
// not among them, and neither is the emoji form of a symbol (U+FE0F), which hides nothing.
const hidden = /(?![\t\n]|(?<=\p{So})\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu;

/** Writes invisible characters as escapes, because a text could use them to hide code. */
export function visible(text) {
  return text.replace(hidden, (c) => {
    const code = c.codePointAt(0).toString(16);
    if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
    return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  });
}

/** Returns how many lines were added and deleted in all files together. */
export function sizeOf(files) {
  return files.reduce((sum, f) => ({ added: sum.added + f.linesAdded, deleted: sum.deleted + f.linesDeleted }), { added: 0, deleted: 0 });
}

/** Describes the change of a file in a few words, such as "modified, binary, committed". */
export function factsOf(file) {
  const facts = [file.kind];
  if (file.oldPath) facts.push(`from ${visible(file.oldPath)}`);
  if (file.binary) facts.push("binary");
  if (file.oldMode && file.newMode && file.oldMode !== file.newMode) facts.push(`mode ${file.oldMode} → ${file.newMode}`);
  if (file.conflict) facts.push("has conflicts");
  else if (file.untracked) facts.push("not in git");
  else if (!file.staged && !file.unstaged) facts.push("committed");
  return facts.join(", ");
}

/** Returns a line that names the tool call that made a hunk. */
export function whyOf(why) {
  if (!why) return "";
  const answer = why.approval && `${why.approval} by ${why.policy ? `the rule ${why.policy}` : why.approver || "somebody"}`;
  return [why.tool, why.prompt && `for “${why.prompt.slice(0, 120)}”`, answer].filter(Boolean).join(", ") || why.note;
}

/**
 * Returns the path of a file relative to the arm's folder, as comments on lines need it. The parameter path
 * is relative to the root of the diff.
 */
export function fromFolder(diff, folder, path) {
  const root = [diff.root, diff.alias].find((r) => r && (folder === r || folder.startsWith(`${r}/`)));
  const below = root ? folder.slice(root.length + 1).split("/").filter(Boolean) : [];
  const parts = path.split("/");
  while (below.length && parts.length > 1 && below[0] === parts[0]) {
    below.shift();
    parts.shift();
  }
  return [...below.map(() => ".."), ...parts].join("/");
}
