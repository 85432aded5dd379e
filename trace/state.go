package trace

import (
	"slices"
	"time"

	"coleo.dev"
)

// mostPlaces is the largest number of entries in State.Places. Each entry says how far one record
// was read. An agent CLI begins another record with each conversation, so State drops the oldest
// entries.
const mostPlaces = 8

// mostSubagents is the largest number of entries in State.Subagents. Each entry says how far one
// record was read. An arm can start any number of subagents, so State drops the oldest entries.
const mostSubagents = 32

// State stores how far an arm's sources have been read, and what the run in progress has done. The
// zero State is for an arm without activities. A State is stored as JSON.
type State struct {
	Places []Place `json:"places,omitempty"` // how far each record was read, in the order of the records' last activities

	// Subagents contains the places of the subagents' own records. They are not in Places, because
	// many subagents would displace the record of the conversation. Forgotten is the time of the
	// newest activity in all records that were dropped from Subagents.
	Subagents []Place   `json:"subagents,omitempty"`
	Forgotten time.Time `json:"forgotten,omitzero"`

	Run   string `json:"run,omitempty"`   // the open run that the activities belong to; "" if none
	Turn  int    `json:"turn,omitempty"`  // number of the run's newest turn; 0 if there is none
	Reply string `json:"reply,omitempty"` // the agent CLI's id of the reply in the newest turn
	// Replied is true if a tool has answered the newest reply. The reply is then over, and the next
	// work of the model begins a new turn.
	Replied bool   `json:"replied,omitempty"`
	Blocks  int    `json:"blocks,omitempty"` // number of texts in the newest turn
	Text    bool   `json:"text,omitempty"`   // true if the run has an event assistant_text
	Open    []Call `json:"open,omitempty"`   // calls without an end, in order
	Model   string `json:"model,omitempty"`
	Mode    string `json:"mode,omitempty"` // the mode of the newest event about a mode
	// Shown is the mode that the screen showed last, or "" if the screen has not shown a mode yet.
	Shown string `json:"shown,omitempty"`
}

// Place stores how far one record has been read.
type Place struct {
	Record   string   `json:"record"`
	Position int64    `json:"position"`
	Keys     []string `json:"keys,omitempty"` // keys of the activities at exactly this position

	Time time.Time `json:"time,omitzero"` // time of the last activity; only for a subagent's own record
}

// Call is a tool call that has not ended.
type Call struct {
	ID    string         `json:"id"`
	Kind  coleo.ToolKind `json:"kind"`
	Files []string       `json:"files,omitempty"`
}

// Orphans returns the ids of the run's tool calls that have not ended.
func (s State) Orphans(run string) []string {
	if run == "" || run != s.Run {
		return nil
	}
	var out []string
	for _, c := range s.Open {
		out = append(out, c.ID)
	}
	return out
}

// Begin returns the State at the beginning of a run. Later activities belong to this run.
func (s State) Begin(run string) State {
	return State{Places: s.Places, Subagents: s.Subagents, Forgotten: s.Forgotten, Run: run, Model: s.Model,
		Mode: s.Mode, Shown: s.Shown}
}

// End returns the State after the end of a run. Later activities belong to no run.
func (s State) End(run string) State {
	if s.Run != run {
		return s
	}
	return s.Begin("")
}

// ShowMode returns the State and the events after the screen has shown a mode. There are no events
// if the mode has not changed.
func (s State) ShowMode(mode string, at time.Time) (State, []coleo.Event) {
	if mode == s.Shown {
		return s, nil
	}
	s.Shown = ""
	next, events := s.add(coleo.Activity{Work: coleo.ModeChanged{To: mode}, Source: coleo.SourceScreen, Time: at})
	next.Shown = mode
	return next, events
}

// Choose returns the State and the events after Coleo itself has changed the mode or the model.
func (s State) Choose(w coleo.Work, at time.Time) (State, []coleo.Event) {
	shown := s.Shown
	s.Shown = ""
	next, events := s.add(coleo.Activity{Work: w, Time: at})
	next.Shown = shown
	return next, events
}

// afterActivity returns the State after an activity of a record, and reports whether the activity
// is new.
func (s State) afterActivity(record string, a coleo.Activity) (State, bool) {
	u, ok := a.Work.(coleo.ReplyUsage)
	// The conversation's record has a place in s.Places. A record without a place is a subagent's own record.
	if ok && u.Subagent && placeOf(s.Places, record) < 0 {
		return s.passSubagent(record, a)
	}
	place, isNew := placeAfter(s.Places, record, a)
	if !isNew {
		return s, false
	}
	places := put(s.Places, place)
	s.Places = places[max(0, len(places)-mostPlaces):]
	return s, true
}

// passSubagent does the same as afterActivity, for an activity of a subagent's own record. If State
// has dropped its entry of a record, the record is read again from its beginning. passSubagent then
// treats the record's activities up to the time s.Forgotten as known.
func (s State) passSubagent(record string, a coleo.Activity) (State, bool) {
	place, isNew := placeAfter(s.Subagents, record, a)
	if !isNew || placeOf(s.Subagents, record) < 0 && !a.Time.After(s.Forgotten) && !s.Forgotten.IsZero() {
		return s, false
	}
	place.Time = a.Time
	s.Subagents = put(s.Subagents, place)
	for len(s.Subagents) > mostSubagents {
		if old := s.Subagents[0].Time; old.After(s.Forgotten) {
			s.Forgotten = old
		}
		s.Subagents = s.Subagents[1:]
	}
	return s, true
}

func placeOf(list []Place, record string) int {
	return slices.IndexFunc(list, func(p Place) bool { return p.Record == record })
}

// placeAfter returns the Place of a record after the activity a has been read. isNew is false if
// the activity had already been read before.
func placeAfter(list []Place, record string, a coleo.Activity) (place Place, isNew bool) {
	place = Place{Record: record, Position: -1}
	if i := placeOf(list, record); i >= 0 {
		place = list[i]
	}
	switch {
	case a.Position < place.Position,
		a.Position == place.Position && slices.Contains(place.Keys, a.Key):
		return place, false
	case a.Position > place.Position:
		place.Position, place.Keys = a.Position, nil
	}
	place.Keys = append(slices.Clip(place.Keys), a.Key)
	return place, true
}

// put returns a copy of the list with the place at its end. It removes an older place of the same
// record.
func put(list []Place, place Place) []Place {
	list = slices.Clone(list)
	if i := placeOf(list, place.Record); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	return append(list, place)
}
