// Package reading judges whether a command only reads, and reads only files of the workspace that
// need no question.
//
// The package contains a list of programs with their harmless options. A harmless option does not
// write, start a program or take file names from a file. The package refuses everything else, such
// as unknown programs, unknown options and shortened long options. It resolves the symbolic links
// of each path.
//
// A judgement saves a question. It does not confine a command: somebody can replace a file after
// the judgement and before the command runs.
package reading
