// Package aider drives Aider. What it knows of its screen is in harness.toml;
// the code here reads answers from its transcript.
package aider

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
)

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte

// Hooks reads answers from the transcript that Aider keeps in the work folder.
func Hooks() terminal.Hooks { return terminal.Hooks{Answer: answer} }

// answer returns what stands behind the last prompt in
// .aider.chat.history.md (0.86.2): prompts are lines that begin with "#### ",
// Aider's own words ones that begin with ">".
func answer(_ context.Context, f terminal.Facts, _ coleo.Receipt) (coleo.Answer, error) {
	raw, err := os.ReadFile(filepath.Join(f.Workdir, ".aider.chat.history.md"))
	if os.IsNotExist(err) {
		return coleo.Answer{}, nil
	}
	if err != nil {
		return coleo.Answer{}, fmt.Errorf("read transcript: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, " \r\n")
		switch {
		case strings.HasPrefix(line, "#### "):
			out = nil
		case !strings.HasPrefix(line, ">"):
			out = append(out, line)
		}
	}
	return coleo.Answer{Text: strings.Trim(strings.Join(out, "\n"), "\n "), Source: "transcript"}, nil
}
