// Package template reads the templates of arms. A template is a file with the options for the start
// of an arm. Some templates are the user's own. Others come with a project, and anybody may have
// written them. So Coleo uses a project's template only if the user trusts its content.
package template
