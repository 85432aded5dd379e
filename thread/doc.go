// Package thread lists the conversations that agent CLIs have had on this machine, and reads their
// messages. A thread is an agent CLI's own conversation, with the agent CLI's own id.
//
// An Index is a SQLite database. It is only a cache: if somebody deletes it, the package builds it
// again from the agent CLIs' files. Refresh lists the files, and reads the beginning and the end of
// each changed file. Fill reads the messages of each file that has changed since its messages were
// last read. The package reads files only while it answers a request.
//
// Search needs FTS5, the full-text search of SQLite. A program has FTS5 only if it was built with the
// tag sqlite_fts5. Without FTS5, Search returns EUnsupported, and everything else works.
//
// Ours is a small file beside the index. It contains the titles that users give, and the ids of the
// threads that users have deleted. Unlike the index, it is no cache: nothing can build it again.
//
// The package does not change the files of agent CLIs, except that Delete can delete them.
package thread
