package git

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"coleo.dev"
)

// Push describes which commit to push to which branch of another repository.
type Push struct {
	URL    string // https:// or ssh://, or the form user@host:path of ssh
	Commit string // the full id of the commit
	Branch string // the branch to which the commit is pushed, without refs/heads/
	// Environ is the user's environment. Git receives only those of its variables that it needs for
	// the network and for the user's login.
	Environ []string
}

// network lists the variables of the user's environment that a push or a fetch needs.
var network = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	"XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	"GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_HOST", "GH_CONFIG_DIR",
	"GITLAB_TOKEN", "GITLAB_HOST", "GLAB_CONFIG_DIR"}

// userNetwork lists those forced settings that do not apply to a push or a fetch. For these settings, the user's
// own configuration applies instead, because they determine how the user logs in. The repository's own
// configuration cannot set them.
var userNetwork = []string{"core.sshCommand", "core.gitProxy", "credential.helper"}

// networkProtocols lists the protocols that a push and a fetch may use. The protocol file is useful only if
// the user's own configuration replaces the URL with a path (url.PATH.insteadOf), because checkURL refuses
// paths.
const networkProtocols = "https:ssh:file"

// Push pushes a commit, and returns git's word for the result, such as "new branch" or "up to date".
// It never overwrites commits of the other repository. It runs no hook of this repository and asks
// nobody for a password. Push returns EConflict if the other repository refuses the commit.
func (r *Repo) Push(ctx context.Context, p Push) (string, error) {
	if err := checkURL(p.URL, "nothing was pushed"); err != nil {
		return "", err
	}
	args := []string{"push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--no-force-with-lease",
		"--recurse-submodules=no", "--", p.URL, p.Commit + ":refs/heads/" + p.Branch}
	env := append(r.program.networkEnvironment(p.Environ), "GIT_DIR="+r.Git, "GIT_COMMON_DIR="+r.standIn,
		"GIT_WORK_TREE="+r.Work)
	out, err := r.program.run(ctx, call{args: args, dir: r.Work, gitDirs: r.gitDirs(), env: env, most: maxStderr})
	flag, word := readPush(string(out))
	switch {
	case flag == '!':
		return "", coleo.Errorf(coleo.EConflict, "%s refused the branch %s: %s", p.URL, p.Branch, word)
	case err != nil:
		return "", err
	case flag == 0:
		return "", coleo.Errorf(coleo.EInternal, "the output of git push does not name the branch %s: %.200q", p.Branch, out)
	}
	return word, nil
}

// networkEnvironment returns the environment of a git process that uses the network. It adds the
// user's login to the environment of every git process.
func (p Program) networkEnvironment(user []string) []string {
	env := slices.Clone(p.environ)
	for _, entry := range user {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(network, name) {
			env = append(env, entry)
		}
	}
	env = append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false",
		"SSH_ASKPASS_REQUIRE=force", "GIT_ALLOW_PROTOCOL="+networkProtocols, "GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0")
	n := 0
	for _, s := range forced {
		if slices.Contains(userNetwork, s.key) {
			continue
		}
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s.value))
		n++
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
}

// checkURL refuses a URL that starts a program or names a folder of this machine. An arm can
// write such a URL into the repository's configuration.
func checkURL(url, nothing string) error {
	rest, https := strings.CutPrefix(url, "https://")
	if !https {
		rest, _ = strings.CutPrefix(url, "ssh://")
	}
	if strings.HasPrefix(rest, "-") || strings.Contains(rest, "::") || strings.ContainsFunc(url, isControl) {
		return coleo.Errorf(coleo.EInvalid, "%.200q is not a URL of a repository: %s", url, nothing)
	}
	host, _, scp := strings.Cut(rest, ":")
	if rest == url && (!scp || host == "" || strings.Contains(host, "/")) {
		return coleo.Errorf(coleo.EInvalid, "%.200q is not an https or ssh URL: %s", url, nothing)
	}
	if rest == url && strings.Contains(rest, "://") {
		return coleo.Errorf(coleo.EInvalid, "%.200q is not an https or ssh URL: %s", url, nothing)
	}
	return nil
}

func isControl(c rune) bool { return c <= ' ' || c == 0x7f }

// readPush parses the output of git push --porcelain. It returns the flag of the branch and git's word
// about the branch. The flag is 0 if the output contains no line about a branch.
func readPush(out string) (flag byte, word string) {
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(fields) == 3 && len(fields[0]) == 1 {
			flag, word = fields[0][0], strings.Trim(fields[2], "[]")
		}
	}
	return flag, word
}

// Values returns the values of a setting in the repository's own configuration, which an arm may have written. It
// returns no values for a setting that is not on the list of harmless settings.
func (r *Repo) Values(key string) (values []string) {
	for _, s := range r.settings {
		if strings.EqualFold(s.key, key) {
			values = append(values, s.value)
		}
	}
	return values
}

// Remotes returns the names of the remotes in the repository's own configuration.
func (r *Repo) Remotes() (names []string) {
	for _, s := range r.settings {
		name, is := strings.CutPrefix(s.key, "remote.")
		if name, url := strings.CutSuffix(name, ".url"); is && url && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
