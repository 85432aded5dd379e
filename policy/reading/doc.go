// Package reading judges whether a command may run without a question to a person. The command must only read.
// It may read only files of the workspace that are not private.
//
// The package contains a list of programs with their harmless options. A harmless option does not write, start
// a program or take file names from a file. The package refuses everything else, such as unknown programs,
// unknown options and shortened long options. It resolves the symbolic links of each path.
//
// A judgement saves a question. It does not confine a command: somebody can replace a file after the judgement
// and before the command runs.
package reading
