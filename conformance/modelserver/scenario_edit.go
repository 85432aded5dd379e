package modelserver

import "strings"

// Some agent CLIs have no tools, and take edits from the model's text. These are the
// formats of such edits. The system text explains which format the agent CLI wants.
const (
	editWhole   = "whole"
	editDiff    = "diff"
	editUnified = "udiff"
)

// editFormat returns the edit format that the system text asks for, or "".
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

// editText returns a new file with the given content, in the given edit format.
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
