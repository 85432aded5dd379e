// Package commandline determines which programs a shell would start for a command line, and
// with which arguments. It runs nothing.
//
// Parse applies the shell's rules only where the result is certain. Otherwise it returns an
// error that names the uncertain part. So a caller that refuses every line with an error
// never allows a command that it has not seen in full.
//
// Parse understands simple commands, pipes, lists, groups, subshells, if, for over known
// words, variables that the line itself sets, file name patterns of * and ?, command
// substitutions, short here-documents, and redirections that write nowhere or only to
// /dev/null.
package commandline
