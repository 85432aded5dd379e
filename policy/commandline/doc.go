// Package commandline tells which programs a command line of a shell would start, and
// with which arguments. It runs nothing.
//
// Parse follows the shell's rules only as far as it is certain of the result. What it is
// not certain of is an error, which says what that is. So a caller that allows nothing
// on an error never allows what it has not seen whole.
//
// These things of a line are followed: simple commands, pipes, lists, groups, subshells,
// if, for over known words, variables that the line itself sets, file name
// patterns of * and ?, command substitutions, short here-documents, and redirections
// that write nowhere or only to /dev/null.
package commandline
