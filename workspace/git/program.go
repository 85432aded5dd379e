package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// Program is the git program on this machine.
type Program struct {
	path    string
	environ []string
	scratch string
	held    *os.File

	pipesAfter time.Duration // replaces the constant pipesAfter; 0 means no replacement
}

// Holding returns a Program that passes the open file to each git process. The process keeps the
// file open until it ends. If the file is locked with flock, the lock lasts until the last of these
// processes has ended, even if the caller is killed.
func (p Program) Holding(file *os.File) Program {
	p.held = file
	return p
}

// passed lists the variables of the caller's environment that git receives. The list contains no
// GIT_ variable.
var passed = []string{"HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME"}

// Find returns the git program of this machine. It looks for git in the PATH of `environ`. Temporary folders for git
// are made below the folder `scratch`, to which only this user may write. If `scratch` is "", they are made in the
// system's folder for temporary files. Find returns ENotInstalled if there is no git.
func Find(environ []string, scratch string) (Program, error) {
	p := Program{scratch: scratch}
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(passed, name) {
			p.environ = append(p.environ, entry)
		}
	}
	if p.path = lookFor("git", p.environ); p.path == "" {
		return p, coleo.Errorf(coleo.ENotInstalled, "git is not in PATH: install git, or work without --worktree")
	}
	if scratch == "" {
		return p, nil
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return p, fmt.Errorf("make the folder for git: %w", err)
	}
	return p, nil
}

// lookFor returns the path of a program in the PATH of `environ`. It returns "" if there is no such program.
func lookFor(program string, environ []string) string {
	for _, entry := range environ {
		list, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, program)
			if info, err := os.Stat(path); err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() &&
				info.Mode()&0o111 != 0 {
				return path
			}
		}
	}
	return ""
}

// environment returns the variables that every git process receives, except the folders of its repository.
// The settings in these variables override those of every configuration file. The settings in `more` override
// those in the list `forced`.
func (p Program) environment(more ...setting) []string {
	settings := slices.Concat(forced, more)
	env := slices.Clone(p.environ)
	env = append(env, "LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false",
		"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_MERGE_AUTOEDIT=no",
		"GIT_PAGER=cat", "PAGER=cat",
		"GIT_SSH_COMMAND=false", "GIT_ALLOW_PROTOCOL=", // git uses no network, and starts no program for it
		"GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE="+os.DevNull, // git ignores all replacements of objects
		"GIT_OPTIONAL_LOCKS=0", // keeps git status from writing the index
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	for n, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s.value))
	}
	return env
}

// forced lists settings that apply to every git process of Coleo. They override the user's own
// settings.
var forced = []setting{
	// Without these settings, git could run a program or check signatures.
	{"core.hooksPath", os.DevNull},
	{"core.fsmonitor", "false"},
	{"core.pager", "cat"},
	{"core.editor", "false"},
	{"core.askPass", "false"},
	{"core.sshCommand", "false"},
	{"core.gitProxy", ""},
	{"core.alternateRefsCommand", "false"},
	{"credential.helper", ""}, // an empty value empties git's list of credential helpers
	{"commit.gpgSign", "false"},
	{"tag.gpgSign", "false"},
	{"push.gpgSign", "false"},
	{"log.showSignature", "false"},
	{"merge.verifySignatures", "false"},
	{"gpg.program", "false"},
	{"gpg.ssh.program", "false"},
	{"gpg.x509.program", "false"},
	{"uploadpack.packObjectsHook", ""},
	// By default, the filter of Git LFS asks the server that .lfsconfig or a remote names. An arm can write both. No
	// program speaks the protocol no-network, so the filter leaves a pointer in place of a file that is not on this
	// machine.
	{"lfs.url", "no-network://"},
	{"lfs.standaloneTransferAgent", ""},
	{"lfs.skipDownloadErrors", "true"},
	{"user.useConfigOnly", "true"}, // git refuses a commit instead of guessing its author
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	// An arm can write a false list of untracked files into its index. With this setting, git
	// ignores that list.
	{"core.untrackedCache", "false"},
	// With this setting, git writes a ref to the disk before it deletes anything that the ref
	// keeps.
	{"core.fsync", "reference"},
	{"fastimport.unpackLimit", "0"}, // makes fast-import always write a pack, which is on the disk before its ref
	// These settings keep git from running in submodules, because it would read the configuration
	// of each submodule there.
	{"submodule.recurse", "false"},
	{"diff.submodule", "short"},
	{"diff.ignoreSubmodules", "dirty"},
	{"status.submoduleSummary", "false"},
	{"fetch.recurseSubmodules", "false"},
	{"push.recurseSubmodules", "no"},
	// These settings fix the format of the output that Coleo parses.
	{"color.ui", "false"},
	{"core.quotePath", "false"},
	{"diff.noprefix", "false"},
	{"diff.mnemonicPrefix", "false"},
	{"diff.relative", "false"},
	{"diff.autoRefreshIndex", "true"}, // git diff omits files of which only the times have changed
	{"diff.colorMoved", "no"},
	{"diff.context", "3"},
	{"diff.interHunkContext", "0"},
	{"diff.suppressBlankEmpty", "false"},
	{"status.relativePaths", "false"},
	{"status.showStash", "false"},
	{"log.showRoot", "true"},
	{"log.follow", "false"},
	{"log.mailmap", "false"}, // keeps git from reading .mailmap, which can be a pipe
	{"rerere.enabled", "false"},
	// Without this setting, most git processes would write eight lines of advice, because Coleo sets GIT_GRAFT_FILE.
	{"advice.graftFileDeprecated", "false"},
}

// ownIndex lists settings for an index that only Coleo uses: see Call.OwnIndex.
var ownIndex = []setting{
	{"core.splitIndex", "false"}, // keeps git from writing a part of the index into the git folder
	// With this setting, git divides the index into blocks that it can read in parallel. Without these blocks, reading
	// an index of 100,000 files takes 4 ms longer on two processors (git 2.39).
	{"index.threads", "4"},
}

// ownLists lists further settings for an index that only Coleo uses. With them, the index also contains git's list of
// untracked files: see Call.OwnLists.
var ownLists = []setting{
	{"core.untrackedCache", "true"},
	{"status.showUntrackedFiles", "all"}, // only with this setting does git store its list of untracked files in the index
}
