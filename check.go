package coleo

import "encoding/json"

// These are the limits for a checked prompt.
const (
	// MaxSchema is the largest size of a JSON Schema, in bytes. The schema is a part of the prompt,
	// and is stored with the prompt.
	MaxSchema = 64 << 10
	// MaxInput is the largest size of the input of a prompt, in bytes. The input is a part
	// of the prompt.
	MaxInput = 256 << 10
	// MaxCheckedAnswer is the largest size of the JSON in a checked answer, in bytes. An event can
	// contain an answer of this size, even if every character must be escaped.
	MaxCheckedAnswer = 128 << 10
	// DefaultRetries is the number of times that the model is asked again if the caller gives no
	// number.
	DefaultRetries = 1
	// MaxRetries is the largest number of times that the model is asked again. A model that has
	// failed this often does not understand the schema.
	MaxRetries = 5
)

// Check says what Coleo checks for a prompt. Coleo can check the input before it types anything,
// and the answer after the run has ended. The schemas are JSON Schemas of draft 2020-12 or
// draft-07.
type Check struct {
	// Schema is the schema of the answer. If Schema is empty, the answer is not checked.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Retries is the number of times that Coleo can still ask the model again, if its answer does
	// not fit.
	Retries int `json:"retries,omitempty"`
	// Input is JSON that is added to the text of the prompt. Input is not stored with the run.
	Input json.RawMessage `json:"input,omitempty"`
	// InputSchema is the schema of the input. If InputSchema is empty, any JSON is accepted.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`

	Attempt  int    `json:"attempt,omitempty"`   // the number of the retry, from 1; 0 for the first prompt
	RetryOf  string `json:"retry_of,omitempty"`  // for a retry: the id of the run whose answer did not fit
	Asked    string `json:"asked,omitempty"`     // for a retry: the beginning of the first prompt
	SpecHash string `json:"spec_hash,omitempty"` // for a retry: the SpecHash in the receipt of the first run
}

// Validated is the payload of the events input_validated and output_validated.
type Validated struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"` // what does not fit, in one line
	// Path is the place of the fault in the checked JSON, as a JSON Pointer, such as /files/*/name.
	// A * stands for the index of an element, or for a key that the schema does not name. Path is
	// "" if the fault concerns the whole JSON.
	Path string `json:"path,omitempty"`
	// Answer is the JSON of the answer. It is empty if the answer does not fit.
	Answer json.RawMessage `json:"answer,omitempty"`
}

// Line returns the fault as one line for users, or "" if there is none.
func (v Validated) Line() string {
	if v.OK || v.Path == "" {
		return v.Error
	}
	return "at " + v.Path + ": " + v.Error
}

// Retry is the payload of an output_retry event: the model will be asked again.
type Retry struct {
	Attempt int    `json:"attempt"` // the number of this retry, from 1
	Left    int    `json:"left"`    // the number of retries that remain if this one fails
	Error   string `json:"error"`   // what did not fit, in one line
	Path    string `json:"path,omitempty"`
	Run     string `json:"run"` // the id of the new prompt in the queue, and of its run
}

// AnswerCheck is the result of checking the answer of a run whose prompt had a schema. Serve stores
// it, so the meaning of a value never changes.
type AnswerCheck string

// These are the values of AnswerCheck. AnswerCheck is "" if the run's prompt had no schema.
const (
	AnswerPending   AnswerCheck = "pending"   // the run has not ended
	AnswerFits      AnswerCheck = "fits"      // the answer fits the schema
	AnswerUnfit     AnswerCheck = "unfit"     // the answer does not fit, or is not JSON
	AnswerUnchecked AnswerCheck = "unchecked" // the run did not finish, so its answer was not checked
)

// AnswerReporter is a harness that knows how its agent CLI reports answers.
type AnswerReporter interface {
	// ReadsAnswers reports whether the agent CLI reports its answers through its hook, its record
	// or its server. Such an answer is complete. An answer from the screen may be incomplete.
	ReadsAnswers() bool
}
