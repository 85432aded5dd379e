package opencode

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/sqlite"
)

// Info contains the fields that Coleo reads of a message (1.18.33). A message has the same form
// over HTTP and in the database.
type Info struct {
	Role string `json:"role"`
	Time struct {
		Created int64 `json:"created"` // Unix time in ms
	} `json:"time"`
	Cost   float64 `json:"cost"` // US dollars
	Tokens struct {
		Input     int `json:"input"` // tokens of the request that were in no cache
		Output    int `json:"output"`
		Reasoning int `json:"reasoning"`
		Cache     struct {
			Read  int `json:"read"`
			Write int `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

// Usage returns the usage of the message.
func (i Info) Usage() coleo.Usage {
	t := i.Tokens
	return coleo.Usage{
		Input: t.Input + t.Cache.Read + t.Cache.Write, Cached: t.Cache.Read, Written: t.Cache.Write,
		Output: t.Output + t.Reasoning, Reasoning: t.Reasoning, Cost: i.Cost,
	}
}

// account is the database with the conversations of one agent CLI. The agent CLI writes to the
// database while Coleo reads it.
type account struct{ folder string } // the data folder's name, which is also the database's name without .db

func (a account) open(f terminal.Facts) (*sql.DB, string, error) {
	id := f.Conversation
	if id == "" { // before the end of the first turn, the id is unknown
		var err error
		if id, err = conversation(f, a.folder); err != nil {
			return nil, "", err
		}
	}
	db, err := sqlite.ReadOnly(a.path(f.Home, f.Folder))
	return db, id, err
}

// answer finds the assistant's last message with a text after the last prompt, and joins the texts of this
// message. The answer is empty if that prompt is not the prompt of the receipt. It is also empty if the
// database cannot be read, so that the session reads the screen instead.
func (a account) answer(ctx context.Context, f terminal.Facts, r coleo.Receipt) (coleo.Answer, error) {
	var texts []string
	last, prompt, isOwn := "", "", false
	err := a.eachRow(ctx, f,
		"SELECT m.id, m.data, p.data FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = ? ORDER "+
			"BY m.time_created, m.id, p.id",
		func(id string, m Info, part []byte) {
			var p struct{ Type, Text string }
			switch {
			case m.Role == "user":
				if id != prompt {
					texts, prompt, isOwn = nil, id, false
				}
				_ = json.Unmarshal(part, &p) // a part that cannot be read has no text
				isOwn = isOwn || terminal.IsPromptOf(r, p.Text, time.UnixMilli(m.Time.Created))
			case json.Unmarshal(part, &p) == nil && p.Type == "text" && p.Text != "":
				if id != last {
					texts = nil
				}
				texts, last = append(texts, p.Text), id
			}
		})
	if err != nil || len(texts) == 0 || !isOwn {
		return coleo.Answer{}, nil
	}
	return coleo.Answer{Text: strings.Join(texts, "\n"), Source: "transcript"}, nil
}

// usage adds up the usage of all messages of the conversation. The sum is zero if there is no
// database yet.
func (a account) usage(ctx context.Context, f terminal.Facts) (coleo.Usage, error) {
	var all []coleo.Usage
	err := a.eachRow(ctx, f, "SELECT id, data, '' FROM message WHERE session_id = ?", func(_ string, m Info, _ []byte) {
		all = append(all, m.Usage())
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // there is no database before the first turn
	}
	return coleo.SumUsage(slices.Values(all)), err
}

// eachRow runs a query about the conversation. It calls the function `row` for each row of the result.
func (a account) eachRow(ctx context.Context, f terminal.Facts, question string,
	row func(id string, m Info, part []byte)) error {
	db, conversation, err := a.open(f)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, question, conversation)
	if err != nil {
		return fmt.Errorf("read the conversations of %s: %w", a.folder, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var data, part []byte
		var m Info
		if err := rows.Scan(&id, &data, &part); err != nil {
			return fmt.Errorf("read the conversations of %s: %w", a.folder, err)
		}
		if json.Unmarshal(data, &m) == nil {
			row(id, m, part)
		}
	}
	return rows.Err()
}
