package revive

import (
	"cmp"
	"context"
	"encoding/json"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/wire"
)

// ranBefore reports whether an arm ran until its machine was rebooted, and has not been recovered
// since. It reads the arm's events, because the arm's row does not show whether a start after the
// reboot was cut off.
func ranBefore(ctx context.Context, client *apiclient.Client, a coleo.Arm) (bool, error) {
	if a.Status != coleo.StatusStopped {
		return false, nil
	}
	switch a.Rule {
	case coleo.RuleReboot, coleo.RuleHolderGone:
		return true, nil
	case coleo.RuleNotStarted, coleo.RuleNoConversation:
	default:
		return false, nil
	}
	f := wire.EventFilter{Arm: a.ID, Kinds: []coleo.EventKind{coleo.EventState, coleo.EventStopped}}
	for waits := false; ; {
		list, next, err := client.Events(ctx, f)
		if err != nil || len(list) == 0 {
			return waits, err
		}
		for _, e := range list {
			waits = stillWaits(waits, e)
		}
		f.After = next
	}
}

// stillWaits reports whether an arm waits for a recovery after the event e. waitedBefore says whether the arm waited
// for a recovery before e.
func stillWaits(waitedBefore bool, e coleo.Event) bool {
	var reading coleo.Reading
	if e.Kind == coleo.EventState {
		var change coleo.Change
		if json.Unmarshal(e.Payload, &change) != nil {
			return waitedBefore
		}
		reading = change.Reading
	} else if json.Unmarshal(e.Payload, &reading) != nil {
		return waitedBefore
	}
	switch {
	case reading.State == coleo.Initializing:
		return waitedBefore // the start has begun, but may still be cut off, so nothing has changed yet
	case reading.State != coleo.Dead:
		return false // the arm was recovered
	}
	switch reading.Rule {
	case coleo.RuleReboot, coleo.RuleHolderGone:
		return true
	case coleo.RuleNotStarted, coleo.RuleNoConversation:
		// the start was cut off, or continues with a new conversation, so nothing has changed yet
		return waitedBefore
	}
	return false
}

// accountOf returns the account of an arm. Arms with the same account share a login.
func accountOf(a coleo.Arm) Account {
	c := a.SpawnConfig() // without a readable configuration, the account is the user's own
	return Account{Harness: a.Harness, Home: c.Home, Endpoint: c.Endpoint, Provider: c.Provider}
}

func (a Account) compare(b Account) int {
	return cmp.Or(cmp.Compare(a.Harness, b.Harness), cmp.Compare(a.Home, b.Home),
		cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Provider, b.Provider))
}
