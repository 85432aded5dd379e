package toolcalls

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/printable"
	"coleo.dev/store"
)

// These constants limit the texts that a model can report, and the files that an arm can claim. A text
// must fit into an event.
const (
	maxRemark = 16 << 10 // size of a note, a heartbeat or a report, in bytes
	maxPath   = 4 << 10  // bytes
	maxClaims = 1000     // number of claims of one arm
)

// heartbeat records what the model reports about its work. It records nothing if the model repeats
// the same words.
func (d *Dispatcher) heartbeat(ctx context.Context, c call) (string, error) {
	var in struct {
		Status string `json:"status"`
		Task   string `json:"current_task"`
	}
	if err := c.remark(&in); err != nil {
		return "", err
	}
	text := strings.TrimSpace(in.Status)
	if task := strings.TrimSpace(in.Task); task != "" {
		text = strings.TrimPrefix(text+": "+task, ": ")
	}
	if text == "" || d.beats[c.arm] == text {
		return "Noted.", nil
	}
	out, err := d.answerAtOnce(ctx, c, store.ToolChange{}, "Noted.", coleo.Remark{Title: "heartbeat", Text: text})
	if err == nil {
		if d.beats == nil {
			d.beats = map[string]string{}
		}
		d.beats[c.arm] = text
	}
	return out, err
}

// shareNote records a note in the log.
func (d *Dispatcher) shareNote(ctx context.Context, c call) (string, error) {
	var in struct {
		Title   string   `json:"title"`
		Content string   `json:"content"`
		Tags    []string `json:"tags"`
	}
	if err := c.remark(&in); err != nil {
		return "", err
	}
	if strings.TrimSpace(in.Title+in.Content) == "" {
		return "", coleo.Errorf(coleo.EInvalid, "the note is empty")
	}
	return d.answerAtOnce(ctx, c, store.ToolChange{}, "The note is recorded.",
		coleo.Remark{Title: in.Title, Text: in.Content, Tags: in.Tags})
}

var reportStatuses = []string{"on_track", "blocked", "issues_found", "needs_review", "completed_with_issues"}

// statusReport records a report in the log.
func (d *Dispatcher) statusReport(ctx context.Context, c call) (string, error) {
	var in struct {
		coleo.StatusReport
		// The tool's arguments have their own names for these three fields of a StatusReport.
		NextSteps    []string `json:"nextSteps"`
		FilesChanged []string `json:"filesChanged"`
		TestsStatus  string   `json:"testsStatus"`
	}
	if err := c.remark(&in); err != nil {
		return "", err
	}
	r := in.StatusReport
	r.NextSteps, r.FilesChanged, r.TestsStatus = in.NextSteps, in.FilesChanged, in.TestsStatus
	if !slices.Contains(reportStatuses, r.Status) {
		return "", coleo.Errorf(coleo.EInvalid, "the status is one of %s, not %q", printable.List(reportStatuses),
			short(r.Status))
	}
	return d.answerAtOnce(ctx, c, store.ToolChange{}, "The report is recorded.",
		coleo.Remark{Title: "report", Text: r.Status + ": " + r.Summary, Report: &r})
}

// instructions returns who the model is and what its task is.
func (d *Dispatcher) instructions(ctx context.Context, c call) (string, error) {
	list, err := d.DB.Tasks(ctx, c.arm)
	if err != nil {
		return "", err
	}
	prompt := c.facts.Prompt
	if prompt == "" {
		prompt = "(no prompt is open)"
	}
	text, _ := coleo.CutWork(prompt)
	return fmt.Sprintf("You are the arm %s of Coleo, and you work in %s.\nYour tasks:\n%s\nYour prompt:\n%s",
		c.facts.Name, c.facts.Workdir, taskLines(list.Tasks), text), nil
}

var claimKinds = []string{"read", "write", "exclusive"}

// claimFile claims a file for the arm, unless the claim of another arm excludes it.
func (d *Dispatcher) claimFile(ctx context.Context, c call) (string, error) {
	var in struct {
		Path   string `json:"file_path"`
		Kind   string `json:"claim_type"`
		Reason string `json:"reason"`
	}
	if err := c.remark(&in); err != nil {
		return "", err
	}
	path, err := c.path(in.Path)
	if err != nil {
		return "", err
	}
	if !slices.Contains(claimKinds, in.Kind) {
		return "", coleo.Errorf(coleo.EInvalid, "claim_type is one of %s, not %q", printable.List(claimKinds),
			short(in.Kind))
	}
	real := realPath(path)
	others, err := d.others(ctx, c, real)
	if err != nil {
		return "", err
	}
	for _, o := range others {
		if excludes(o.Kind, in.Kind) {
			return "", coleo.Errorf(coleo.EConflict, "%s is not claimed: %s", path, d.claimLine(o))
		}
	}
	all, err := d.DB.Claims(ctx, "")
	if err != nil {
		return "", err
	}
	if own := slices.DeleteFunc(all, func(o store.Claim) bool { return o.Arm != c.arm }); len(own) >= maxClaims {
		return "", coleo.Errorf(coleo.EInvalid, "the arm has claimed %d files, which is the most", len(own))
	}
	claim := store.Claim{Arm: c.arm, Path: real, Kind: in.Kind, Reason: in.Reason, At: d.Now().UTC()}
	return d.answerAtOnce(ctx, c, store.ToolChange{Claim: &claim},
		fmt.Sprintf("%s is claimed (%s) until this arm ends.", path, in.Kind))
}

// excludes reports whether a claim of one arm prevents a claim of another arm on the same file. The
// parameters are the kinds of the two claims. Several arms can read a file while one arm writes it.
// An exclusive claim excludes all others.
func excludes(held, wanted string) bool {
	return held == "exclusive" || wanted == "exclusive" || held == "write" && wanted == "write"
}

// checkConflicts reports which other arms have claimed a file.
func (d *Dispatcher) checkConflicts(ctx context.Context, c call) (string, error) {
	var in struct {
		Path string `json:"file_path"`
	}
	if err := c.read(&in); err != nil {
		return "", err
	}
	path, err := c.path(in.Path)
	if err != nil {
		return "", err
	}
	others, err := d.others(ctx, c, realPath(path))
	if err != nil {
		return "", err
	}
	if len(others) == 0 {
		return "No other arm has claimed " + path + ".", nil
	}
	lines := make([]string, len(others))
	for i, o := range others {
		lines[i] = d.claimLine(o)
	}
	return strings.Join(lines, "\n"), nil
}

// others returns the claims of other arms on a file.
func (d *Dispatcher) others(ctx context.Context, c call, path string) ([]store.Claim, error) {
	list, err := d.DB.Claims(ctx, path)
	return slices.DeleteFunc(list, func(o store.Claim) bool { return o.Arm == c.arm }), err
}

func (d *Dispatcher) claimLine(o store.Claim) string {
	name := o.Arm
	if f, err := d.Arm(o.Arm); err == nil {
		name = f.Name
	}
	line := fmt.Sprintf("arm %s has claimed it (%s)", name, o.Kind)
	if o.Reason != "" {
		line += ": " + o.Reason
	}
	return line
}

// path returns an absolute, clean path. A relative path is relative to the arm's work folder.
func (c call) path(path string) (string, error) {
	if path == "" || len(path) > maxPath {
		return "", coleo.Errorf(coleo.EInvalid, "file_path must have 1 to %d bytes", maxPath)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.facts.Workdir, path)
	}
	return filepath.Clean(path), nil
}

// realPath returns the path of a file without symbolic links. Two arms can reach the same file by different paths. The
// file and folders above it can be missing.
func realPath(path string) string {
	for dir, rest := path, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

// remark is like read, but limits the size of the arguments.
func (c call) remark(into any) error {
	if len(c.input) > maxRemark {
		return coleo.Errorf(coleo.EInvalid, "the arguments of %s have more than %d bytes", c.tool, maxRemark)
	}
	return c.read(into)
}
