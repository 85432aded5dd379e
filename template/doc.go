// Package template reads the templates of arms. A template is a file with the options for the start
// of an arm. Some templates are the user's own. Others come with a project, and Coleo uses them
// only if the user trusts their content, because anybody may have written them.
package template
