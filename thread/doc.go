// Package thread lists the conversations that agent CLIs have had on this machine, and reads their
// messages. A thread is an agent CLI's own conversation, with the agent CLI's own id.
//
// An Index is a SQLite database. It is a cache. If somebody deletes it, it is made again from the
// agent CLIs' files. Refresh lists the files, and reads the beginning and the end of those that
// have changed. Fill reads the messages of those that have changed since they were last read.
// Nothing is read before somebody asks.
//
// Search needs FTS5, the full-text search of SQLite. A program that was built without the
// tag sqlite_fts5 has no FTS5. There Search returns EUnsupported, and the rest works.
//
// Ours is a small file beside the index. It has the titles that users give, and the marks of
// deleted threads. It is not a cache.
//
// This package only reads the files of agent CLIs. Delete is the exception.
package thread
