package wire

import (
	"time"

	"coleo.dev"
)

// TokenRequest asks for a new operator token.
type TokenRequest struct {
	Name    string             `json:"name" minLength:"1" doc:"Name of the token, for people and for the audit"`
	Scopes  []coleo.TokenScope `json:"scopes,omitempty" doc:"What the token allows; read and prompt if left out"`
	Arms    []string           `json:"arms,omitempty" doc:"Ids or names of the arms that the token reaches; no other arms"`
	Labels  coleo.Labels       `json:"labels,omitempty" doc:"Labels that an arm must have for the token to reach it"`
	RunsIn  string             `json:"runsIn,omitempty" doc:"Id or name of the arm in which the token's program runs"`
	Expires time.Time          `json:"expires,omitzero" doc:"When the token expires; after 90 days if left out"`
}

// NewToken is a new operator token. No other answer contains the token's value.
type NewToken struct {
	Token coleo.OperatorToken `json:"token"`
	Value string              `json:"value" doc:"The secret that a program sends; nobody can read it later"`
}
