// Package record reads the record that an agent CLI writes of its own conversation. The agent CLI
// writes the record for its own use, usually to a file below HOME. The record contains the prompts
// that the agent CLI accepted and what the model did. Most records also show how each turn ended:
// docs/records.md describes this for each agent CLI.
//
// A Decoder reads no files. It receives the lines of a record in order, and returns entries. It
// skips lines of unknown kinds, because new versions of an agent CLI add new kinds of lines.
package record
