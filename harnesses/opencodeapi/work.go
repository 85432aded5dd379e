package opencodeapi

import (
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/opencode"
	"coleo.dev/record"
)

// The code in this file follows OpenCode's database. There, OpenCode stores the work of a conversation,
// also when it runs as a server.

// catchUpLimit is how long Coleo may read the database before it reports the end of a turn. Reading
// takes milliseconds, unless the disk or the machine is stuck.
const catchUpLimit = time.Second

// followRecord follows the record of the conversation until ctx ends. It does nothing if the handle
// comes from an older Coleo, which did not store the place of the record.
func (s *Session) followRecord(ctx context.Context) {
	if s.own.Home == "" {
		return
	}
	s.record = record.NewFollower(opencode.Conversations().Source.In(s.own.Folder), s.whereRecorded, s.onEntries)
	s.work.Go(func() { s.record.Run(ctx, s.h.records) })
}

func (s *Session) whereRecorded() record.Where {
	return record.Where{Home: s.own.Home, Conversation: s.Handle().Conversation, Since: s.own.Started}
}

// catchUp reads the record to its present end, and reports the work in it.
func (s *Session) catchUp() {
	if s.record != nil {
		s.record.CatchUp(catchUpLimit)
	}
}

// onEntries reports the work in new entries of the record. If a person has begun a turn, onEntries
// reports the turn first, and then the work in it.
func (s *Session) onEntries(entries []record.Entry) {
	entries = slices.DeleteFunc(entries, func(e record.Entry) bool {
		return !e.Time.IsZero() && e.Time.Before(s.own.Started)
	})
	name, reported := s.record.Name(), 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range entries {
		// Only a prompt of this session begins a turn that must be reported. An earlier session has reported older
		// turns.
		if e.Kind != record.Prompt || e.Time.Before(s.opened) {
			continue
		}
		s.addWork(name, entries[reported:i])
		reported = i
		s.takeID(e.Turn)
		s.reportTurn(e.Turn, e.Text)
	}
	s.addWork(name, entries[reported:])
}

// addWork adds a change of the kind ChangeWork to the session's list of changes. The change contains the
// calls, texts and other activities in the entries. The caller must hold mu.
func (s *Session) addWork(name string, entries []record.Entry) {
	if work := record.Activities(entries); len(work) > 0 {
		s.log.Add(coleo.Change{Time: time.Now(), Kind: coleo.ChangeWork, Reading: s.reading, Work: work, Record: name})
	}
}
