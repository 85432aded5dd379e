// Package past reads and writes the files about a terminal that Coleo keeps in addition to the
// holder's journal.
//
// A Writer writes snapshots of a session's screen into a Folder. A later session of the same
// terminal begins with the newest snapshot, and with a Replay of the output after it. ScreenAt,
// ScreenBeforeTyping and Record return earlier screens of a terminal, even after its agent CLI has
// ended. Snapshots are a cache. Without a snapshot, a session reads the whole journal.
package past
