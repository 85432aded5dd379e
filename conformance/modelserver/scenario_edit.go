package modelserver

import "strings"

// These are the formats in which some agent CLIs accept edits. Such an agent CLI offers no tools.
// It reads edits from the model's text, and explains the format in the system text.
const (
	editWhole   = "whole"
	editDiff    = "diff"
	editUnified = "udiff"
)

// editFormat returns the edit format for which the system text asks, or "".
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

// editText returns a text that creates a file in the given edit format.
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
