package opencode

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// A worker reads the work of one conversation from the events in the database. An event is a row
// with a message or a part of a message. The row does not change when the message changes later.
// The Position of an entry is the number of its event in the conversation.
//
// Some versions of OpenCode write no such events, so Coleo reports no work for them.
type worker struct {
	since    int64 // Unix time in ms; work from before it may be left out
	seq      int64 // number of the last event that was read; -1 if none was
	reported map[string]bool
	// The keys of the maps `shell` and `compactions` are ids of messages.
	shell       map[string]bool // prompts that are commands of the user, and the replies to them
	compactions map[string]bool // messages of a compaction; true if OpenCode, and not the user, began it
	mode, model string
}

func newWorker(since int64) worker {
	return worker{since: since, seq: -1, reported: map[string]bool{}, shell: map[string]bool{},
		compactions: map[string]bool{}}
}

// workEntry is an entry, or a placeholder that withSubagents or mergeState later replaces by entries. It is
// an entry if both `prompt` and `subagent` are "". At most one of them is set.
type workEntry struct {
	entry    record.Entry
	prompt   string // id of the prompt that replaces this entry later; otherwise ""
	subagent string // the subagent's conversation whose tokens replace this entry later; otherwise ""
}

// eventData contains the fields that Coleo reads of an event.
type eventData struct {
	Time int64     `json:"time"` // Unix time in ms
	Info eventInfo `json:"info"`
	Part eventPart `json:"part"`
}

// eventInfo is a message in an event.
type eventInfo struct {
	Info
	ID      string `json:"id"`
	Parent  string `json:"parentID"`
	Agent   string `json:"agent"`
	ModelID string `json:"modelID"` // id of the model; only in a reply
	Model   struct {
		ID string `json:"modelID"` // id of the model; only in a prompt
	} `json:"model"`
	Summary json.RawMessage `json:"summary"` // true in a reply that is a summary of the conversation
	Error   eventError      `json:"error"`
}

type eventError struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
	} `json:"data"`
}

// eventPart is a part of a message in an event.
type eventPart struct {
	ID        string `json:"id"`
	Message   string `json:"messageID"`
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Auto      bool   `json:"auto"` // true if OpenCode itself, and not the user, began the compaction
	Time      struct {
		End int64 `json:"end"`
	} `json:"time"`
	Call  string     `json:"callID"`
	Tool  string     `json:"tool"`
	State eventState `json:"state"`
	Error eventError `json:"error"` // why a request failed; only in a part of the type retry
	Info             // the tokens and the cost of a step
}

// eventState is the state of a call.
type eventState struct {
	Status   string          `json:"status"`
	Input    json.RawMessage `json:"input"`
	Output   string          `json:"output"`
	Error    string          `json:"error"`
	Metadata struct {
		Exit    *int   `json:"exit"`
		Session string `json:"sessionId"` // the conversation of the subagent that the call started
	} `json:"metadata"`
	Time struct {
		Start     int64 `json:"start"`
		End       int64 `json:"end"`
		Compacted int64 `json:"compacted"` // when OpenCode removed the output from the conversation
	} `json:"time"`
}

// mostEvent is the largest size in bytes of an event that Coleo reads. Only an event with an image
// can be larger, because OpenCode cuts the output of its tools at 50 kB.
const mostEvent = 4 << 20

// read returns what the new events report. It returns nil if it cannot read the database. No event is
// lost then, because the next successful call reads all new events.
func (w *worker) read(tx *sql.Tx, conversation string) (out []workEntry) {
	after := w.seq
	if after < 0 {
		first := sql.NullInt64{}
		row := tx.QueryRowContext(context.Background(), `SELECT min(seq) FROM event WHERE aggregate_id = ?
			AND type LIKE 'message.updated.%' AND json_extract(data, '$.info.time.created') >= ?`, conversation, w.since)
		if row.Scan(&first) != nil || !first.Valid {
			return nil
		}
		after = first.Int64 - 1
	}
	rows, err := tx.QueryContext(context.Background(), `SELECT seq, type, data FROM event WHERE aggregate_id = ?
		AND seq > ? AND type LIKE 'message.%' AND length(data) <= ? ORDER BY seq`, conversation, after, mostEvent)
	if err != nil {
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var kind string
		var data []byte
		if rows.Scan(&seq, &kind, &data) != nil {
			break
		}
		w.seq = seq
		var e eventData
		_ = json.Unmarshal(data, &e) // fields that cannot be read stay empty
		out = append(out, w.event(kind, e)...)
	}
	_ = rows.Close()
	return w.withSubagents(tx, out)
}

// event returns what one event reports, such as a call or a text.
func (w *worker) event(kind string, e eventData) []workEntry {
	switch {
	case strings.HasPrefix(kind, "message.part.updated."):
		return w.part(e)
	case strings.HasPrefix(kind, "message.updated."):
		return w.message(e.Info)
	}
	return nil
}

// once returns a list with one entry, which contains `work`. If an earlier call had the same key, it
// returns nil. A key must be unique in its conversation.
func (w *worker) once(key string, work coleo.Work, reply string, ms int64) []workEntry {
	if w.reported[key] {
		return nil
	}
	w.reported[key] = true
	e := record.Worked(work, reply, time.UnixMilli(ms))
	e.Position, e.Key = w.seq, key
	if reply != "" {
		e.Model = w.model
	}
	return []workEntry{{entry: e}}
}

// message returns what a message itself reports, without its parts.
func (w *worker) message(m eventInfo) (out []workEntry) {
	if m.Role == "user" {
		if m.Agent != "" {
			if w.mode != "" && w.mode != m.Agent {
				out = append(out, w.once(m.ID+" mode", coleo.ModeChanged{From: w.mode, To: m.Agent}, "", m.Time.Created)...)
			}
			w.mode = m.Agent
		}
		if id := m.Model.ID; id != "" {
			if w.model != "" && w.model != id {
				out = append(out, w.once(m.ID+" model", coleo.ModelChanged{From: w.model, To: id}, "", m.Time.Created)...)
			}
			w.model = id
		}
		return out
	}
	if w.shell[m.Parent] {
		w.shell[m.ID] = true
	}
	if string(m.Summary) == "true" {
		w.compactions[m.ID] = w.compactions[m.Parent]
	}
	if m.Error.Name != "" && m.Error.Name != aborted {
		text := m.Error.Data.Message
		if text == "" {
			text = m.Error.Name
		}
		return w.once(m.ID+" error", record.ProblemOf(text, false), "", m.Time.Created)
	}
	return nil
}

// userShell is the text of a prompt that is really a command of the user.
const userShell = "The following tool was executed by the user"

// part returns what a part of a message reports, such as a call or a text.
func (w *worker) part(e eventData) []workEntry {
	p := e.Part
	switch {
	case p.Type == "text" && p.Synthetic && p.Text == userShell:
		w.shell[p.Message] = true
	case p.Type == "compaction":
		w.compactions[p.Message] = p.Auto
	// This is the text of a prompt, because only the texts of replies have an end.
	case p.Type == "text" && p.Time.End == 0 && !p.Synthetic && p.Text != "":
		return []workEntry{{prompt: p.Message, entry: record.Entry{Position: w.seq}}}
	case p.Type == "text" && p.Time.End > 0 && p.Text != "":
		if automatic, compacts := w.compactions[p.Message]; compacts {
			text, cut := coleo.CutWork(p.Text)
			return w.once(p.ID, coleo.Compaction{Automatic: automatic, Summary: text, Truncated: cut}, "", p.Time.End)
		}
		return w.once(p.ID, coleo.AssistantText{Block: record.Whole(p.Text)}, p.Message, p.Time.End)
	case p.Type == "reasoning" && p.Time.End > 0 && p.Text != "":
		return w.once(p.ID, coleo.Thinking{Block: record.Whole(p.Text)}, p.Message, p.Time.End)
	case p.Type == "step-finish":
		return w.once(p.ID, coleo.ReplyUsage{Usage: record.FromTranscript(p.Usage()), Model: w.model}, p.Message, e.Time)
	case p.Type == "retry":
		return w.once(p.ID, record.ProblemOf(p.Error.Data.Message, true), "", e.Time)
	case p.Type == "tool" && w.shell[p.Message]:
		return w.userCommand(p)
	case p.Type == "tool" && p.State.Time.Compacted == 0:
		return append(w.tool(p), w.subagent(p)...)
	}
	return nil
}

// userCommand returns the beginning or the end of a command of the user.
func (w *worker) userCommand(p eventPart) []workEntry {
	command := record.Call(p.Call, p.Tool, coleo.ToolExecute, string(p.State.Input)).Command
	out := w.once(p.ID+" start", coleo.ShellInput{ID: p.Call, Command: command}, "", p.State.Time.Start)
	if p.State.Time.End > 0 {
		text, cut := coleo.CutWork(p.State.Output + p.State.Error)
		out = append(out, w.once(p.ID+" end", coleo.ShellOutput{ID: p.Call, Output: text, ExitCode: p.State.Metadata.Exit,
			Millis: p.State.Time.End - p.State.Time.Start, Truncated: cut}, "", p.State.Time.End)...)
	}
	return out
}

// tool returns the beginning or the end of a tool call. It returns nothing while the model still
// writes the arguments of the call.
func (w *worker) tool(p eventPart) []workEntry {
	if p.State.Status != "running" && p.State.Status != "completed" && p.State.Status != "error" {
		return nil
	}
	out := w.once(p.ID+" start", callOf(p), p.Message, p.State.Time.Start)
	if p.State.Status == "running" || strings.HasPrefix(p.State.Error, cutOff) {
		return out
	}
	end := endOf(p)
	ended := w.once(p.ID+" end", end, p.Message, p.State.Time.End)
	out = append(out, ended...)
	var list struct {
		Todos json.RawMessage `json:"todos"`
	}
	if p.Tool == "todowrite" && end.Outcome == coleo.ToolSuccess && json.Unmarshal(p.State.Input, &list) == nil {
		if tasks, ok := record.Tasks(list.Todos); ok {
			out = append(out, w.once(p.ID+" tasks", tasks, p.Message, p.State.Time.End)...)
		}
	}
	return out
}

// mergeState inserts the entries of `state` into the work of the conversation. `state` contains the
// prompts, and other entries that the events of the work do not contain. Each prompt comes after the work
// of the previous turn, and before the work of its own turn. The entries of `state` keep their order.
func (w *worker) mergeState(state []record.Entry, work []workEntry) (out []record.Entry) {
	at := int64(0)
	if n := len(work); n > 0 {
		at = work[0].entry.Position
	} else if w.seq > 0 {
		at = w.seq
	}
	add := func(list []record.Entry) {
		for _, e := range list {
			if e.Kind == record.Prompt {
				e.Position, e.Key = at, e.Turn
			}
			out = append(out, e)
		}
	}
	for _, t := range work {
		at = t.entry.Position
		if t.prompt == "" {
			out = append(out, t.entry)
			continue
		}
		i := slices.IndexFunc(state, func(e record.Entry) bool { return e.Kind == record.Prompt && e.Turn == t.prompt })
		add(state[:i+1])
		state = state[i+1:]
	}
	add(state)
	return out
}
