// Package successor has the rules for hand-overs. In a hand-over, an arm's task goes to a new arm
// in the same folder, its successor. The package returns the configuration with which the successor
// starts, and the successor's first prompt.
//
// The first prompt contains only parts of the conversation, the list of tasks, and the diff. The package does
// not ask a model, starts nothing and sends nothing. Its functions are pure.
package successor

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"coleo.dev"
	"coleo.dev/changes"
)

// These constants limit the first prompt, in bytes. Together they keep it below 70,000 bytes, and
// most prompts are far shorter. An agent CLI needs some seconds for each thousand bytes that Coleo
// types, and the model needs room for its work.
const (
	// taskText is the limit for the person's first prompt. It is larger than in a summary, because
	// the successor needs the whole task.
	taskText = 12_000
	// promptText is the limit for each of the person's last prompts. recentPrompts is the number of
	// these prompts.
	promptText    = 3_000
	recentPrompts = 3
	maxDiff       = 12_000
	mostFiles     = 30 // the largest number of entries in the list of changed files
	mostTasks     = 20
	lineText      = 120 // the largest size of a path or a task, in bytes
)

// opening begins each first prompt of a successor.
const opening = "You take over a task from another coding agent"

// IsFirst reports whether a text is the first prompt of a successor. Coleo has written such a text,
// not a person.
func IsFirst(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), opening) }

// Part is the work of one arm on the task.
type Part struct {
	Name    string // the arm's name
	Harness string // the title of the arm's harness, which the prompt contains
	Summary coleo.ThreadSummary
	// Prompts are the prompts that the arm has received, oldest first, without the first prompt of
	// a hand-over.
	Prompts []string
}

// Work is everything that the first prompt says about the task.
type Work struct {
	Folder string
	Parts  []Part // the arms that have had the task, oldest first; not empty
	Tasks  []coleo.Task
	// Diff contains the changes in the folder since the first arm of Parts began. If Diff is nil, NoDiff is the
	// reason.
	Diff   *changes.Diff
	NoDiff string
}

// Prompt returns the first prompt of a successor.
func Prompt(w Work) string {
	var b strings.Builder
	last := w.Parts[len(w.Parts)-1]
	fmt.Fprintf(&b, opening+", %s. It has stopped, and you work in its folder, %s. Continue the task where it has "+
		"stopped, and do not begin again. First look at the files, because they have its work. The rest of this message "+
		"is a record. The program Coleo has made it from the conversation and the folder, with a space after "+
		"each @.\n", last.Harness, w.Folder)
	writePrompts(&b, w.Parts)
	for _, p := range w.Parts {
		writeSummary(&b, p)
	}
	writeTasks(&b, w.Tasks)
	writeDiff(&b, w)
	return plain(b.String())
}

// writePrompts writes the person's first prompt and the person's last prompts, whichever arm
// received them.
func writePrompts(b *strings.Builder, parts []Part) {
	var all []string
	for _, p := range parts {
		all = append(all, p.Prompts...)
	}
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## The task: the first prompt of the person\n\n%s\n", cut(all[0], taskText))
	rest := all[1:]
	if left := len(rest) - recentPrompts; left > 0 {
		rest = rest[left:]
		fmt.Fprintf(b, "\n(%d later prompts are left out here.)\n", left)
	}
	if len(rest) > 0 {
		b.WriteString("\n## The last prompts of the person, the oldest first\n")
	}
	for i, text := range rest {
		fmt.Fprintf(b, "\n%d. %s\n", i+1, cut(text, promptText))
	}
}

func writeSummary(b *strings.Builder, p Part) {
	s := p.Summary
	fmt.Fprintf(b, "\n## Summary of the work of %s (arm %s)\n\nPrompts: %d. Answers: %d. Calls of tools: %d.\n",
		p.Harness, p.Name, s.Prompts, s.Answers, s.Tools)
	if s.Answer != "" {
		fmt.Fprintf(b, "\nIts last answer:\n%s\n", s.Answer)
	}
	if len(s.Files) > 0 {
		b.WriteString("\nFiles that it has changed, the last one first:\n")
		for _, path := range s.Files {
			fmt.Fprintf(b, "- %s\n", path)
		}
	}
	if s.MoreFiles > 0 {
		fmt.Fprintf(b, "- and %d more\n", s.MoreFiles)
	}
	if len(s.Tasks) > 0 {
		b.WriteString("\nOpen tasks of its own list:\n")
	}
	for _, t := range s.Tasks {
		fmt.Fprintf(b, "- [%s] %s\n", t.Status, t.Text)
	}
	if s.MoreTasks > 0 {
		fmt.Fprintf(b, "- and %d more\n", s.MoreTasks)
	}
}

func writeTasks(b *strings.Builder, list []coleo.Task) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n## The list of tasks that it has kept with Coleo's tools\n\n")
	for _, t := range list[:min(len(list), mostTasks)] {
		fmt.Fprintf(b, "- [%s] %s\n", t.Status, cut(t.Text, lineText))
	}
	if more := len(list) - mostTasks; more > 0 {
		fmt.Fprintf(b, "- and %d more\n", more)
	}
}

func writeDiff(b *strings.Builder, w Work) {
	b.WriteString("\n## The diff so far\n\n")
	d := w.Diff
	switch {
	case d == nil:
		fmt.Fprintf(b, "There is no diff: %s.\n", w.NoDiff)
		return
	case len(d.Files) == 0:
		b.WriteString("No file has changed yet.\n")
		return
	}
	for _, f := range d.Files[:min(len(d.Files), mostFiles)] {
		fmt.Fprintf(b, "- %s %s (+%d -%d)\n", f.Kind, cut(f.Path, lineText), f.LinesAdded, f.LinesDeleted)
	}
	if more := len(d.Files) - mostFiles; more > 0 {
		fmt.Fprintf(b, "- and %d more files\n", more)
	}
	patch := string(d.Patch)
	fmt.Fprintf(b, "\n%s\n", cut(patch, maxDiff))
	if len(patch) > maxDiff || d.Cut != "" {
		fmt.Fprintf(b, "\nThis diff is not complete. 'git diff %s' shows all of it, except for files that git does not "+
			"know yet.\n", d.Base)
	}
}

// cut returns at most the first n bytes of a text. If it leaves out the rest, it adds a note with
// the number of missing bytes.
func cut(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + fmt.Sprintf("… (%d more bytes)", len(text)-n)
}

// mention matches an @ and the character that follows it. Some agent CLIs replace a word that
// begins with @ with the content of the file that the word names.
var mention = regexp.MustCompile(`@([^\s@])`)

// plain removes from a text the characters that an agent CLI could take for keys: all control
// characters except line feeds. It writes each tab as spaces, because TAB completes a word. It puts
// a space after each @, so that no agent CLI attaches a file that the text only mentions.
func plain(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(strings.ToValidUTF8(text, "�"))
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return -1
		}
		return r
	}, text)
	return mention.ReplaceAllString(text, "@ $1")
}

// Config returns the configuration with which the successor of an arm starts. It keeps the folder,
// the sandbox, the profile, the permissions, the policy, the variables and the MCP servers of the
// first arm. It leaves out what only the first arm's agent CLI understands: model, conversation,
// arguments, modes. It keeps the model server, so that the task does not go to somebody else's
// server.
//
// firstArm identifies the first arm. knowsMCP says whether the successor's harness supports MCP
// servers.
func Config(firstArm coleo.Predecessor, c coleo.SpawnConfig, knowsMCP bool) coleo.SpawnConfig {
	out := coleo.SpawnConfig{Workdir: c.Workdir, Profile: c.Profile, Home: c.Home, Endpoint: c.Endpoint,
		PermissionMode: c.PermissionMode, TrustWorkdir: c.TrustWorkdir, OnPartition: c.OnPartition, Policy: c.Policy,
		OnLimit: c.AtLimit(), ContinueWith: c.ContinueWith, EndWhenDone: c.EndWhenDone, Sandbox: c.Sandbox,
		EnvNames: c.EnvNames, Wrap: c.Wrap,
		Cols: c.Cols, Rows: c.Rows, Succeeds: &firstArm}
	if knowsMCP {
		out.MCPServers, out.Tools = c.MCPServers, c.Tools
	}
	if c.Scripted() {
		out.Model = coleo.ModelScripted
	}
	return out
}

// maxName is the largest length of an arm's name, in bytes: see armname.Check.
const maxName = 63

// Name returns a name for the successor of an arm: the arm's name and the successor's harness. If another arm
// already has this name, Name adds a number. `taken` reports whether an arm has a certain name.
func Name(first coleo.ArmLink, harness string, taken func(name string) bool) string {
	base := strings.TrimSuffix(first.Name, "-"+first.Harness)
	base = base[:min(len(base), max(maxName-len(harness)-len("--99"), 1))] + "-" + harness
	name := base
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}
