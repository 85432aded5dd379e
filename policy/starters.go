package policy

import (
	"path"
	"slices"
	"strings"

	"coleo.dev/policy/commandline"
)

// starters are programs that start another command. Its words are among theirs, or in the text of one of them.
var starters = setOf(`. arch ash awk bash bun bunx builtin busybox caffeinate chroot chrt command csh dash
	dbus-run-session deno direnv doas dumb-init eatmydata entr env eval exec expect fakeroot find firejail fish flock
	gawk gosu ionice ksh linux32 linux64 ltrace mawk mksh nice node nohup npx nsenter numactl parallel perl php pkexec
	prlimit python python3 rlwrap ruby runuser screen script setarch setpriv setsid sg sh source ssh start-stop-daemon
	stdbuf strace su sudo systemd-run taskset tcsh time timeout tini tmux toybox trap unbuffer unshare uv uvx valgrind
	watch xargs xvfb-run zsh`)

// shells are starters that read commands from their standard input, if no word names a script. interpreters are
// starters that read a word as a shell does, with quotes and variables. They include the shells.
var (
	shells       = setOf(`ash bash busybox csh dash fish ksh mksh sh tcsh zsh`)
	interpreters = setOf(`. ash bash busybox csh dash eval fish flock ksh mksh parallel runuser screen script sg sh
		source ssh su tcsh tmux toybox trap watch zsh`)
)

func setOf(names string) map[string]bool {
	out := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		out[name] = true
	}
	return out
}

// mayApplyTo reports whether a rule may apply to what a command does, although the command's words are not those of
// the rule. There are three cases:
//
//   - Other words stand between the words of the rule, as in `git -C DIR push`.
//   - The command starts another command, as in `env git push` or `sh -c 'git push'`.
//   - The words of the other command are hidden, as in `sh -c "$X"`, `ls | sh` or `ls | xargs git`.
func (r Rule) mayApplyTo(c commandline.Command) bool {
	if r.isNamedBy(c) || hidesCommand(c.Words) {
		return true
	}
	if !slices.ContainsFunc(c.Words, func(w commandline.Word) bool { return path.Base(w.Text) == "xargs" }) {
		return false
	}
	parts := partsOf(c)
	for i := range parts {
		if isWithin(r.words(), append(parts[i:len(parts):len(parts)], commandline.Word{Unknown: true})) {
			return true // xargs adds the words that it reads
		}
	}
	return false
}

// words returns the words of a rule for commands, without the * at its end.
func (r Rule) words() []string { return strings.Fields(strings.TrimSuffix(r.Command, "*")) }

// isNamedBy reports whether the words of a command, or those of a command that it starts, contain the rule's words.
func (r Rule) isNamedBy(c commandline.Command) bool {
	rule := r.words()
	if len(c.Words) > 0 && isWithin(rule, c.Words) {
		return true
	}
	parts := partsOf(c)
	for i := range parts {
		if isWithin(rule, parts[i:]) {
			return true
		}
	}
	return false
}

// partsOf returns the words among which a command that the command starts can be. There are none if the command starts
// no other.
func partsOf(c commandline.Command) (parts []commandline.Word) {
	if len(c.Words) == 0 || !starters[path.Base(c.Words[0].Text)] {
		return nil
	}
	ends := func(letter rune) bool { return strings.ContainsRune(" \t\r\n;|&(){}'\"`=,", letter) }
	for _, word := range c.Words[1:] {
		if word.Unknown {
			parts = append(parts, word)
		}
		for part := range strings.FieldsFuncSeq(word.Text, ends) {
			parts = append(parts, commandline.Word{Text: part})
		}
	}
	return parts
}

// hidesCommand reports whether the words of a command start a command that Coleo cannot see: a shell reads it from
// its standard input, or a word is unknown or quoted and is read once more as a shell does.
func hidesCommand(words []commandline.Word) bool {
	if len(words) == 0 || !starters[path.Base(words[0].Text)] {
		return false
	}
	isQuoted := func(w commandline.Word) bool { return w.Unknown || strings.ContainsAny(w.Text, "\\'\"$`*?[]{}~") }
	isOption := func(w commandline.Word) bool { return strings.HasPrefix(w.Text, "-") && !w.Unknown }
	isInput := func(w commandline.Word) bool { return w.Text == "-s" || w.Text == "-" || w.Text == "/dev/stdin" }
	for i, word := range words {
		rest := words[i+1:]
		name := path.Base(word.Text)
		if name == "." && i > 0 { // the folder, as in `find .`
			continue
		}
		if interpreters[name] && slices.ContainsFunc(rest, isQuoted) {
			return true
		}
		if shells[name] && (!slices.ContainsFunc(rest, func(w commandline.Word) bool { return !isOption(w) }) ||
			slices.ContainsFunc(rest, isInput)) {
			return true
		}
	}
	return false
}

// asCommand returns the words of a rule for commands as a command.
func (r Rule) asCommand() (c commandline.Command) {
	for _, word := range r.words() {
		c.Words = append(c.Words, commandline.Word{Text: word})
	}
	return c
}

// isWithin reports whether the words contain those of a rule in their order. The first word must be the rule's
// program, with or without a path. An unknown word can be any word of the rule.
func isWithin(rule []string, words []commandline.Word) bool {
	if len(rule) == 0 {
		return false
	}
	if first := words[0]; !first.Unknown && path.Base(first.Text) != rule[0] && first.Text != rule[0] {
		return false
	}
	words = words[1:]
	for _, word := range rule[1:] {
		i := slices.IndexFunc(words, func(w commandline.Word) bool { return w.Unknown || w.Text == word })
		if i < 0 {
			return false
		}
		words = words[i+1:]
	}
	return true
}
