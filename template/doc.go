// Package template reads the templates of arms. A template is a file with the options for the start
// of an arm. A template is the user's own, or it came with a project. Anybody may have written a
// project's template. So it is used only if the user trusts its content.
package template
