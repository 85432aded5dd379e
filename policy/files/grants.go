package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/policy"
)

// This file stores the user's grants.

const (
	// MaxGrant is the longest duration of a grant. A longer permission should be a rule, because
	// people see it when they read their rules.
	MaxGrant = 30 * 24 * time.Hour
	// mostGrants is the largest number of grants in the file. It keeps the file small.
	mostGrants = 1000
)

// Grant is a permission that the user has given for a limited time. It is for an arm, for one start
// of an arm, or for a conversation. It allows a command or a tool: see policy.Rule.
type Grant struct {
	ID      string    `json:"id"`
	Arm     string    `json:"arm,omitempty"`    // the arm's id; "" for a conversation
	ArmName string    `json:"arm_name"`         // the name that the arm had when the user gave the grant
	Start   int       `json:"start,omitempty"`  // the start to which the grant applies; 0 for every start
	Thread  string    `json:"thread,omitempty"` // the conversation's id, as the agent CLI reports it
	Command string    `json:"command,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Made    time.Time `json:"made"`
	Ends    time.Time `json:"ends"`
}

func (g Grant) rule() policy.Rule {
	return policy.Rule{Command: g.Command, Tool: g.Tool, Verdict: policy.Allow}
}

// check returns an error for a grant that cannot be used.
func (g Grant) check() error {
	scope := policy.Scope{Name: "granted", Rules: []policy.Rule{g.rule()}}
	switch err := scope.Check(); {
	case err != nil:
		return err
	case g.ID == "" || g.Arm == "" && g.Thread == "" || g.Ends.IsZero():
		return coleo.Errorf(coleo.EInvalid, "a grant needs an id, an arm or a conversation, and an end")
	}
	return nil
}

// Grants returns the grants that are valid at the given time, oldest first.
func (p Paths) Grants(now time.Time) ([]Grant, error) {
	out := []Grant{}
	if p.GrantFile == "" {
		return out, nil
	}
	data, err := config.ReadOwnAtMost(p.GrantFile, MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	for _, g := range out {
		err = errors.Join(err, g.check())
	}
	if err != nil {
		return nil, fmt.Errorf("read what is granted, in %s: %w", p.GrantFile, err)
	}
	return slices.DeleteFunc(out, func(g Grant) bool { return !now.Before(g.Ends) }), nil
}

// ForDecide converts grants to the type that policy.Decide takes.
func ForDecide(list []Grant) []policy.Grant {
	var out []policy.Grant
	for _, g := range list {
		out = append(out, policy.Grant{Rule: g.rule(), ID: g.ID, Arm: g.Arm, Start: g.Start, Thread: g.Thread,
			Ends: g.Ends})
	}
	return out
}

// Give adds a grant. It returns EInvalid if the grant is malformed or lasts too long, and EConflict
// if there are too many grants.
func (p Paths) Give(g Grant, now time.Time) error {
	if err := g.check(); err != nil {
		return err
	}
	if left := g.Ends.Sub(now); left <= 0 || left > MaxGrant {
		return coleo.Errorf(coleo.EInvalid, "a grant lasts for up to %d days: write a rule for longer times",
			int(MaxGrant/(24*time.Hour)))
	}
	unlock, err := lock(p.GrantFile)
	if err != nil {
		return err
	}
	defer unlock()
	list, err := p.Grants(now)
	if err != nil {
		return err
	}
	if len(list) >= mostGrants {
		return coleo.Errorf(coleo.EConflict, "there are already %d grants, and there cannot be more: revoke some", len(list))
	}
	return writeJSON(p.GrantFile, append(list, g))
}

// Revoke removes the grant with the given id. If there is none, the error is ENotFound.
func (p Paths) Revoke(id string, now time.Time) error {
	unlock, err := lock(p.GrantFile)
	if err != nil {
		return err
	}
	defer unlock()
	list, err := p.Grants(now)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(list), func(g Grant) bool { return g.ID == id })
	if len(left) == len(list) {
		return coleo.Errorf(coleo.ENotFound, "there is no grant %q: 'coleo policy grants' lists them", id)
	}
	return writeJSON(p.GrantFile, left)
}
