package fakeagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Script tells what the fake does, in addition to obeying the words of its prompts.
type Script struct {
	// Start are commands that run before the composer is first drawn. The screen stays
	// blank until they are done or open a dialog.
	Start []string `json:"start,omitempty"`
	// Rules tell how prompts are answered. The first matching rule is used.
	Rules []Rule `json:"rules,omitempty"`
	// Status makes the fake announce each state by OSC 7501.
	Status bool `json:"status,omitempty"`
	// Title makes the fake show each state in the window title.
	Title bool `json:"title,omitempty"`
}

// Rule replaces a prompt by other commands.
type Rule struct {
	Contains string   `json:"contains"` // text that the prompt must contain; "" matches every prompt
	Do       []string `json:"do"`
}

// LoadScript reads a script from a JSON file. An error names the file and the entry.
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

// check returns an error if the script has an unknown command. In a prompt an unknown
// command is echoed, but in a script it is an error.
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

// commands returns the commands for a prompt.
func (s Script) commands(prompt string) []string {
	for _, r := range s.Rules {
		if strings.Contains(prompt, r.Contains) {
			return r.Do
		}
	}
	return strings.Split(prompt, "\n")
}
