// Package token has the operator tokens: values with which programs command Coleo within
// bounds that a person has chosen.
//
// The package draws and checks values, and it knows which route needs which scope. It does
// not know HTTP: package api asks it about each request.
package token
