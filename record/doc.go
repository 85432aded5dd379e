// Package record reads what an agent CLI writes down of its own conversation: the prompts
// that it took, what the model did, and how each turn ended. The agent CLI keeps that
// record for its own use, usually as a file below HOME.
//
// A Decoder is pure. It gets the record's lines in order and returns entries. It skips
// lines that it does not know, because each version of an agent CLI adds some.
//
// docs/conformance.md says which endings each record knows.
package record
