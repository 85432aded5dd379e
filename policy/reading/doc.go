// Package reading judges whether a command only reads, and only files of the workspace
// that may be read without a question.
//
// It knows a list of programs, and of each one the options that neither write, nor start
// a program, nor take the names of files from a file. Everything else is refused: an
// unknown program, an unknown option, a shortened long option. Each path is resolved with
// its symbolic links.
//
// A judgement saves a question. It is no boundary: between the judgement and the command,
// somebody can replace a file.
package reading
