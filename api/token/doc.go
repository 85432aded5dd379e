// Package token has the operator tokens: values with which programs command Coleo within bounds
// that a person has chosen.
//
// The package creates and checks values, and it knows which scope each route needs. It does not
// know HTTP. Package api asks it about each request.
package token
