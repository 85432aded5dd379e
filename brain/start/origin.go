package start

import (
	"cmp"
	"encoding/json"
	"strings"

	"coleo.dev"
	"coleo.dev/brain/choices"
	"coleo.dev/wire"
)

// configureThread sets which conversation an arm continues or copies.
func configureThread(c *coleo.SpawnConfig, q wire.SpawnRequest) error {
	if q.Fork != "" && q.Recover {
		return coleo.Errorf(coleo.EInvalid, "an arm either copies a conversation or continues one, not both")
	}
	c.Conversation, c.Fork = cmp.Or(q.Conversation, c.Conversation), q.Fork
	if q.Fork != "" && (c.ForkedFrom == nil || c.ForkedFrom.Conversation != q.Fork) {
		// The configuration may come from the arm's last start. If a model asked for that start, it names the model's
		// arm as the parent. A clone has no parent.
		c.Parent, c.Depth = "", 0
		c.ForkedFrom = &coleo.ForkOrigin{Conversation: q.Fork}
	}
	for _, id := range []string{q.Conversation, q.Fork} {
		if strings.HasPrefix(id, "-") {
			return coleo.Errorf(coleo.EInvalid, "%q is not an id of a conversation: it would be an option", id)
		}
	}
	return nil
}

// Inherit gives a new arm the configuration of its parent, and stores the parent as the new arm's origin. If
// `known` is true, the arm is not new, and Inherit returns EConflict.
func Inherit(arm *coleo.Arm, parent coleo.Arm, known bool) error {
	if known {
		return coleo.Errorf(coleo.EConflict, "Arm %s already exists: a fork is a new arm, with another name", arm.Name)
	}
	c, err := Stored(parent)
	if err != nil {
		return err
	}
	c.ForkedFrom = &coleo.ForkOrigin{Arm: parent.ID, Name: parent.Name, Conversation: parent.SessionID}
	// the fork works in the folder of its parent, and the worktree there belongs to the parent
	c.Worktree = nil
	// No model has asked for the fork. So the fork is no subarm, even if the arm that it copies is one.
	c.Parent, c.Depth = "", 0
	raw, err := json.Marshal(c)
	arm.Config, arm.Harness, arm.Domain, arm.ContextBudget = raw, parent.Harness, parent.Domain, parent.ContextBudget
	arm.AgentID = parent.AgentID
	choices.Copy(arm, parent)
	return err
}

// Label adds labels to a new arm, which may already have labels from its parent. It returns EInvalid for bad
// labels. If `known` is true, the arm already exists, and Label returns EInvalid if there are any labels.
func Label(arm *coleo.Arm, c *coleo.SpawnConfig, labels coleo.Labels, known bool) error {
	if known && len(labels) > 0 {
		return coleo.Errorf(coleo.EInvalid, "arm %s exists already: "+
			"'coleo arm label' changes its labels; nothing was started", arm.Name)
	}
	next, err := coleo.LabelChange{Set: labels}.Apply(arm.Labels)
	if err != nil || known {
		return err
	}
	arm.Labels = next
	choices.ToConfig(c, *arm)
	return nil
}

// ForgetChosen removes what the user has chosen before, if a request for a start replaces it. A
// requested permission mode replaces the chosen mode, and a requested model replaces the chosen
// model.
func ForgetChosen(c *coleo.SpawnConfig, model, permission string) {
	if c.Chosen == nil || model == "" && permission == "" {
		return
	}
	c.Chosen = c.Chosen.Change(func(now *coleo.Chosen) {
		if permission != "" {
			now.Mode = ""
		}
		if model != "" {
			now.Model = ""
			delete(now.Threads, c.Conversation)
			delete(now.Modes, now.Mode)
		}
	})
}
