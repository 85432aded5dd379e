// Package modelserver answers agent CLIs in place of a model: it follows a
// script instead of thinking, and writes down every request it gets. What it
// wrote down is the ground truth of Coleo's tests: a prompt was delivered if
// it stands in the record byte for byte, and not otherwise.
//
// A request in any dialect is decoded into a [Turn]; the script, and after it a
// built-in scenario that obeys the words of the prompt, chooses a [Reply]; the
// dialect encodes that reply as a stream or as one JSON document. One dialect
// is one file. Spoken are the Anthropic Messages API, version 2023-06-01, and
// the OpenAI Chat Completions API.
//
// It listens on loopback addresses and path sockets only. It neither checks
// nor keeps credentials; the record says merely that some were sent.
package modelserver
