// Package past reads and writes what Coleo keeps on disk about a terminal, in addition
// to the holder's journal.
//
// A Writer writes snapshots of a session's screen into a Folder. A later session of the
// same terminal begins with the newest snapshot, and with a Replay of the output after
// that snapshot. ScreenAt, ScreenBeforeTyping and Record show earlier screens of a terminal,
// even after its agent CLI has ended. Snapshots are a cache: without them, everything is
// read from the journal.
package past
