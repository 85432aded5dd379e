package modelserver

import "strings"

// Some agent CLIs offer the model no tools, and take edits from the model's text. These
// are the formats of such edits. The system text explains the format that the agent CLI
// expects.
const (
	editWhole   = "whole"
	editDiff    = "diff"
	editUnified = "udiff"
)

// editFormat returns the edit format that the system text asks for. If the system text
// asks for no format, editFormat returns "".
func editFormat(t Turn) string {
	switch {
	case len(t.Tools) > 0:
		return ""
	case strings.Contains(t.System, "*file listing*"):
		return editWhole
	case strings.Contains(t.System, "SEARCH/REPLACE"):
		return editDiff
	case strings.Contains(t.System, "diff -U0"):
		return editUnified
	}
	return ""
}

// editText returns text that tells the agent CLI, in the given edit format, to write a
// new file.
func editText(format, path, content string) string {
	switch format {
	case editDiff:
		return path + "\n```\n<<<<<<< SEARCH\n=======\n" + content + ">>>>>>> REPLACE\n```\n\n"
	case editUnified:
		return "```diff\n--- /dev/null\n+++ " + path + "\n@@ ... @@\n+" +
			strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n+") + "\n```\n\n"
	}
	return path + "\n```\n" + content + "```\n\n"
}
