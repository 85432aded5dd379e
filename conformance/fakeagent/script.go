package fakeagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Script describes what the fake does when it starts, and how it answers prompts.
type Script struct {
	// Start lists commands that run before the composer is drawn for the first time. The screen is
	// blank until the commands have ended or one of them opens a dialog.
	Start []string `json:"start,omitempty"`
	// Rules determine which commands a prompt runs. The first matching rule is used. If no rule
	// matches, the lines of the prompt are the commands.
	Rules []Rule `json:"rules,omitempty"`
	// Status makes the fake announce each state with OSC 7501.
	Status bool `json:"status,omitempty"`
	// Title makes the fake show each state in the title of the window.
	Title bool `json:"title,omitempty"`
}

// Rule replaces the lines of a prompt with other commands.
type Rule struct {
	Contains string   `json:"contains"` // text that the prompt must contain; "" matches every prompt
	Do       []string `json:"do"`
}

// LoadScript reads a script from a JSON file. Its error names the file and the wrong entry.
func LoadScript(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var s Script
	if err := dec.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("script %s: %w", path, err)
	}
	if err := s.check(); err != nil {
		return Script{}, fmt.Errorf("script %s: %w", path, err)
	}
	return s, nil
}

// check returns an error if a command of the script is unknown, or if a rule has no
// commands.
func (s Script) check() error {
	known := (&program{}).words()
	for i, line := range s.Start {
		if verb, _, _ := strings.Cut(line, " "); known[verb] == nil {
			return fmt.Errorf("start %d: no command is called %q", i+1, verb)
		}
	}
	for i, r := range s.Rules {
		if len(r.Do) == 0 {
			return fmt.Errorf("rule %d: %w", i+1, errors.New("does nothing"))
		}
		for j, line := range r.Do {
			if verb, _, _ := strings.Cut(line, " "); known[verb] == nil {
				return fmt.Errorf("rule %d, command %d: no command is called %q", i+1, j+1, verb)
			}
		}
	}
	return nil
}

// commands returns the commands that the fake runs for a prompt.
func (s Script) commands(prompt string) []string {
	for _, r := range s.Rules {
		if strings.Contains(prompt, r.Contains) {
			return r.Do
		}
	}
	return strings.Split(prompt, "\n")
}
