package modelserver

import "strings"

// The formats in which agent CLIs without tools take edits from the model's text. The
// system text explains the format that the agent CLI wants.
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

// editText returns a new file with that content, in an edit format.
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
