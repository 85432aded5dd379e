package policy

import (
	"path"
	"slices"
	"strings"

	"coleo.dev/policy/commandline"
)

// starters are programs that start another command. Its words are among theirs, or in the text of one of them.
var starters = map[string]bool{
	".": true, "ash": true, "bash": true, "builtin": true, "busybox": true, "chroot": true, "chrt": true,
	"command": true, "dash": true, "doas": true, "env": true, "eval": true, "exec": true, "find": true, "fish": true,
	"flock": true, "ionice": true, "ksh": true, "nice": true, "nohup": true, "nsenter": true, "parallel": true,
	"runuser": true, "script": true, "setpriv": true, "setsid": true, "sh": true, "source": true, "ssh": true,
	"stdbuf": true, "strace": true, "su": true, "sudo": true, "systemd-run": true, "taskset": true, "time": true,
	"timeout": true, "trap": true, "unshare": true, "watch": true, "xargs": true, "zsh": true,
}

// mayApplyTo reports whether a rule may apply to what a command does, although the command's words are not those of
// the rule. There are two cases:
//
//   - Other words stand between the words of the rule, as in `git -C DIR push`.
//   - The command starts another command, as in `env git push` or `sh -c 'git push'`.
func (r Rule) mayApplyTo(c commandline.Command) bool {
	rule := strings.Fields(strings.TrimSuffix(r.Command, "*"))
	var words []string
	for _, w := range c.Words {
		words = append(words, w.Text)
	}
	if len(rule) == 0 || len(words) == 0 {
		return false
	}
	if isWithin(rule, words) {
		return true
	}
	if !starters[path.Base(words[0])] {
		return false
	}
	parts := strings.FieldsFunc(strings.Join(words[1:], " "), func(letter rune) bool {
		return strings.ContainsRune(" \t\r\n;|&(){}'\"`=", letter)
	})
	for i := range parts {
		if isWithin(rule, parts[i:]) {
			return true
		}
	}
	return false
}

// asCommand returns the words of a rule for commands as a command.
func (r Rule) asCommand() (c commandline.Command) {
	for _, word := range strings.Fields(strings.TrimSuffix(r.Command, "*")) {
		c.Words = append(c.Words, commandline.Word{Text: word})
	}
	return c
}

// isWithin reports whether the words contain those of a rule in their order. The first word must be the rule's
// program, with or without a path.
func isWithin(rule, words []string) bool {
	if path.Base(words[0]) != rule[0] && words[0] != rule[0] {
		return false
	}
	words = words[1:]
	for _, word := range rule[1:] {
		i := slices.Index(words, word)
		if i < 0 {
			return false
		}
		words = words[i+1:]
	}
	return true
}
