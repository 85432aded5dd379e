// Package past reads and writes what is kept of a terminal on disk, beside the journal of
// its holder.
//
// A Writer writes snapshots of a session's screen into a Folder. A later session begins
// with the newest snapshot and a Replay of the output since. ScreenAt and Record show what
// a terminal showed earlier, also after its agent CLI has ended. Snapshots are a cache:
// without them everything is read from the journal.
package past
