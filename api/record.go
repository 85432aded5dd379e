package api

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"coleo.dev"
)

type screenInput struct {
	ID string `path:"id" doc:"Id or name of the arm"`
	At string `query:"at" doc:"A time as in RFC 3339; left out: now"`

	History int `query:"history" minimum:"0" maximum:"10000" doc:"Maximum number of lines that have scrolled off"`
}

type recordingInput struct {
	ID         string `path:"id" doc:"Id or name of the arm"`
	Generation int    `query:"generation" minimum:"0" doc:"Which of the arm's starts; left out or 0: the last"`
	From       int64  `query:"from" minimum:"0" doc:"Offset of the first byte of output; the last answer's next"`
}

func (s *Server) screen(ctx context.Context, in *screenInput) (*reply[coleo.Screen], error) {
	var at time.Time
	if in.At != "" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, in.At); err != nil {
			return nil, coleo.Errorf(coleo.EInvalid, "at=%q is not a time such as 2006-01-02T15:04:05Z", in.At)
		}
	}
	out, err := s.brain.Screen(ctx, in.ID, at, in.History)
	return &reply[coleo.Screen]{out}, err
}

func (s *Server) recording(ctx context.Context, in *recordingInput) (*reply[coleo.Recording], error) {
	out, err := s.brain.Record(ctx, in.ID, in.Generation, in.From)
	out.Events = list(out.Events)
	return &reply[coleo.Recording]{out}, err
}

// ScreenAt returns the arm's screen at the given time.
func (c *Client) ScreenAt(ctx context.Context, arm string, at time.Time) (coleo.Screen, error) {
	var out coleo.Screen
	err := c.call(ctx, get, armPath(arm, "/screen?at="+url.QueryEscape(at.UTC().Format(time.RFC3339Nano))), nil, &out)
	return out, err
}

// History returns the arm's present screen, or the last screen if the arm has ended.
// The screen includes at most the given number of lines that have scrolled off the top.
// The maximum is coleo.MostHistory.
func (c *Client) History(ctx context.Context, arm string, lines int) (coleo.Screen, error) {
	var out coleo.Screen
	err := c.call(ctx, get, armPath(arm, fmt.Sprintf("/screen?history=%d", lines)), nil, &out)
	return out, err
}

// Record returns one piece of the recording of a generation of the arm. The piece
// begins at the byte offset from. Generation 0 means the newest generation. Offset 0
// means the oldest part of the recording that is still kept.
func (c *Client) Record(ctx context.Context, arm string, generation int, from int64) (coleo.Recording, error) {
	var out coleo.Recording
	err := c.call(ctx, get, armPath(arm, fmt.Sprintf("/recording?generation=%d&from=%d", generation, from)), nil, &out)
	return out, err
}
