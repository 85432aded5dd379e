// Package token contains the operator tokens, which programs use to command Coleo within limits
// that a person has chosen.
//
// The package creates and checks the values of tokens, and knows which scope each route needs. It
// does not use HTTP. Package api calls it for each request.
package token
