// Package record reads the record that an agent CLI writes of its own conversation. The record
// contains the prompts that the agent CLI accepted and what the model did. Most records also show
// how each turn ended. The agent CLI writes the record for its own use, usually to a file below
// HOME.
//
// A Decoder reads no files. It gets the lines of a record in order, and returns entries. It skips
// lines of unknown kinds, because new versions of an agent CLI add new kinds of lines.
//
// docs/records.md says for each agent CLI how its record shows the end of a turn.
package record
