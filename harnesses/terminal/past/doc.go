// Package past reads and writes what is kept on disk about a terminal, in addition to
// the holder's journal.
//
// A Writer writes snapshots of a session's screen into a Folder. A later session begins
// with the newest snapshot, and with a Replay of the output after that snapshot.
// ScreenAt and Record show what a terminal showed earlier, even after its agent CLI has
// ended. Snapshots are a cache: if there are none, everything is read from the journal.
package past
