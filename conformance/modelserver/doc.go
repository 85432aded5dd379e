// Package modelserver answers agent CLIs in place of a model. It follows a script and
// records every request. The record is the truth for Coleo's tests: a prompt was
// delivered if it is in the record byte for byte, and not otherwise.
//
// A dialect decodes a request into a [Turn]. The script chooses a [Reply]; without a
// matching rule a built-in scenario does, which obeys the words of the prompt. The
// dialect encodes that reply as a stream or as one JSON document. Each dialect has its
// own file. The dialects are the Anthropic Messages API, version 2023-06-01, the OpenAI
// Chat Completions and Responses APIs, and the Gemini API.
//
// The server listens only on loopback addresses and path sockets. It neither checks nor
// keeps credentials. The record shows only that some were sent.
package modelserver
