// Package record reads the record that an agent CLI writes of its own conversation. The
// record has the prompts that the agent CLI took, what the model did, and how each turn
// ended. The agent CLI writes the record for its own use, usually to a file below HOME.
//
// A Decoder reads no files. It gets the record's lines in order and returns entries. It
// skips lines of unknown kinds, because new versions of an agent CLI add new kinds of
// lines.
//
// docs/records.md lists how the record of each agent CLI tells the end of a turn.
package record
