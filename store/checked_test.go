package store

import (
	"encoding/json"
	"testing"

	"coleo.dev"
)

func TestR9ARunsRowSaysWhetherItsAnswerFits(t *testing.T) {
	t.Parallel()
	s := serve(t)
	started := func(id string, c *coleo.Check) coleo.Event {
		return work(id, 0, coleo.EventRunStart, coleo.Receipt{ID: id, Text: "do it", SpecHash: "hash", Check: c})
	}
	schema := json.RawMessage(`{"type":"number"}`)
	events := []coleo.Event{
		started("plain", nil),
		started("first", &coleo.Check{Schema: schema, Retries: 1}),
		work("first", 0, coleo.EventOutputValidated, coleo.Validated{Path: "/n", Error: "no number"}),
		work("first", 0, coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle, Retry: "second"}),
		started("second", &coleo.Check{Schema: schema, Attempt: 1, RetryOf: "first"}),
		work("second", 0, coleo.EventOutputValidated, coleo.Validated{OK: true, Answer: json.RawMessage("1")}),
		work("second", 0, coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle}),
		started("died", &coleo.Check{Schema: schema, Retries: 1}),
		work("died", 0, coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Dead}),
		started("open", &coleo.Check{Schema: schema}),
	}
	for _, e := range numbered("h1", 0, events...) {
		project(t, s, e)
	}
	for _, want := range []coleo.Run{
		{ID: "plain"},
		{ID: "first", AnswerCheck: coleo.AnswerUnfit, CheckFault: "at /n: no number", Retry: "second"},
		{ID: "second", AnswerCheck: coleo.AnswerFits, RetryOf: "first"},
		{ID: "died", AnswerCheck: coleo.AnswerUnchecked},
		{ID: "open", AnswerCheck: coleo.AnswerPending},
	} {
		got, err := s.Run(t.Context(), want.ID)
		if err != nil || got.SpecHash != "hash" || got.AnswerCheck != want.AnswerCheck || got.CheckFault != want.CheckFault ||
			got.Retry != want.Retry || got.RetryOf != want.RetryOf {
			t.Errorf("run %s is %+v (%v), want %+v", want.ID, got, err, want)
		}
	}
}
