package opencodeapi

import (
	"encoding/json"
	"testing"

	"coleo.dev"
)

// body has the form of the server's question (openapi.json of 1.18.33).
const body = `{"id":"que_1","questions":[
{"question":"Which?","header":"W","multiple":true,"options":[{"label":"a"},{"label":"b"},{"label":"c"}]},
{"question":"How?","header":"H","options":[{"label":"x"},{"label":"y"}]}]}`

func TestAQuestionTakesTheAnswersThatItAllows(t *testing.T) {
	t.Parallel()
	var q questionBody
	if err := json.Unmarshal([]byte(body), &q); err != nil {
		t.Fatal(err)
	}
	a := q.request()
	if !a.dialogs[0].Several || a.dialogs[1].Several {
		t.Fatalf("several options: %+v", a.dialogs)
	}
	for _, c := range []struct {
		dialog int
		d      coleo.Decision
		want   string // JSON; "" for an error
	}{
		{0, coleo.Decision{Choice: coleo.ChoiceAnswer, Options: []int{3, 1}}, `["a","c"]`},
		{0, coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 2}, `["b"]`},
		{0, coleo.Decision{Choice: coleo.ChoiceAnswer, Options: []int{1}, Words: "more"}, `["a","more"]`},
		{0, coleo.Decision{Choice: coleo.ChoiceAnswer, Options: []int{4}}, ""},
		{0, coleo.Decision{Choice: coleo.ChoiceAnswer}, ""},
		{0, coleo.Decision{Choice: coleo.ChoiceApprove, Option: 1}, ""},
		{1, coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 2}, `["y"]`},
		{1, coleo.Decision{Choice: coleo.ChoiceAnswer, Options: []int{2}}, `["y"]`},
		{1, coleo.Decision{Choice: coleo.ChoiceAnswer, Words: "z"}, `["z"]`},
		{1, coleo.Decision{Choice: coleo.ChoiceAnswer, Options: []int{1, 2}}, ""},
		{1, coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 1, Words: "z"}, ""},
		{1, coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 3}, ""},
	} {
		answer, err := answerTo(a.dialogs[c.dialog], c.d)
		got, _ := json.Marshal(answer)
		if err != nil && (c.want != "" || coleo.ErrorCode(err) != coleo.EInvalid) || err == nil && string(got) != c.want {
			t.Errorf("%+v of question %d: %s, %v, want %q", c.d, c.dialog+1, got, err, c.want)
		}
	}
}

func TestAllAnswersAreSentInOneRequest(t *testing.T) {
	t.Parallel()
	path, sent, err := reply(openRequest{id: "que_1", question: true, answers: [][]string{{"a", "c"}, {"y"}}},
		coleo.Decision{Choice: coleo.ChoiceAnswer})
	got, _ := json.Marshal(sent)
	if want := `{"answers":[["a","c"],["y"]]}`; err != nil || path != "/question/que_1/reply" || string(got) != want {
		t.Errorf("%s %s, %v, want %s", path, got, err, want)
	}
}
