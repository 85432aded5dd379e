// Package commandline determines which programs a shell would start for a command line, and with
// which arguments. It runs nothing.
//
// Parse applies the shell's rules only where the result is certain. Otherwise it returns an error
// that names the uncertain part. A caller must refuse every line for which Parse returns an error,
// so that it never allows an unseen command.
//
// Parse understands simple commands, pipes, lists, groups, subshells, `if`, and `for` over known
// words. It also understands variables that the line itself sets, file name patterns of * and ?,
// command substitutions, and short here-documents. It accepts a redirection of output only to
// /dev/null or to another descriptor.
package commandline
