package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"coleo.dev"
)

// maxConfig is the maximum size of a repository's configuration, in bytes. Coleo reads no larger configuration. The
// configuration of a repository with 1,000 branches has about 100 kB.
const maxConfig = 4 << 20

// setting is one line of a configuration. The key has the form section.name or section.subsection.name. Only the
// subsection is case-sensitive.
type setting struct{ key, value string }

// harmless matches the keys that git may read from a repository's own configuration. Each key determines how files or
// refs are stored, or who commits. None of these keys can name a program, or a file or an address that git would read
// by itself.
var harmless = regexp.MustCompile(`(?s)^(` + strings.Join([]string{
	`core\.(repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|protecthfs|protectntfs|symlinks)`,
	`core\.(autocrlf|eol|safecrlf|checkroundtripencoding|logallrefupdates|sharedrepository)`,
	`core\.(compression|loosecompression|abbrev|sparsecheckout|sparsecheckoutcone)`,
	`index\.(sparse|version|threads)`,
	`extensions\.(objectformat|refstorage|noop|compatobjectformat|relativeworktrees|preciousobjects)`,
	`branch\..*\.(remote|merge|rebase|pushremote|description)`,
	`remote\.[^:]*\.(url|fetch)`, // no name with ":", because it could replace a URL
	`(user|author|committer)\.(name|email)`,
	`init\.defaultbranch`,
	`diff\.(algorithm|renames|renamelimit)`,
	`merge\.(conflictstyle|renames|renamelimit)`,
}, "|") + `)$`)

// leftOut lists extensions that Coleo can leave out, because the repository still works without them. If a repository
// has any other extension that Coleo does not know, its format is unknown. Coleo then refuses to run git there.
var leftOut = []string{"extensions.worktreeconfig", "extensions.partialclone"}

// readHarmless reads a configuration and returns its harmless settings. It does not follow
// includes. The result is empty if the file does not exist.
func (p Program) readHarmless(ctx context.Context, path string) ([]setting, error) {
	data, err := readConfig(path)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	key := parsedKey{program: p.path, content: sha256.Sum256(data)}
	if kept, ok := parsed.get(key); ok {
		return kept, nil
	}
	out, err := p.listConfig(ctx, data)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not a configuration of git: %w", path, err)
	}
	var kept []setting
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, valued := strings.Cut(entry, "\n")
		if !valued {
			value = "true" // in git, a key without a value means true
		}
		switch {
		case onlyElsewhere(key):
		case harmless.MatchString(key):
			kept = append(kept, setting{key, value})
		case strings.HasPrefix(key, "extensions.") && !slices.Contains(leftOut, key):
			return nil, coleo.Errorf(coleo.EUnsupported, "%s has %s, which Coleo does not know: git is not run there",
				path, key)
		}
	}
	parsed.put(key, kept)
	return kept, nil
}

// listConfig lists the settings in the text of a configuration, as git config --null does.
func (p Program) listConfig(ctx context.Context, data []byte) ([]byte, error) {
	return p.run(ctx, call{args: []string{"config", "--file", "-", "--no-includes", "--null", "--list"}, dir: "/",
		stdin: bytes.NewReader(data), env: p.environment(), most: 2 * maxConfig})
}

// onlyElsewhere reports whether a setting is only for file systems that change file names. Linux keeps names
// unchanged, so an arm could only use the setting to hide a file, such as FILE beside file.
func onlyElsewhere(key string) bool {
	return runtime.GOOS == "linux" && (key == "core.ignorecase" || key == "core.precomposeunicode")
}

// readConfig reads a regular file. It refuses pipes and devices, because reading them might never end.
func readConfig(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not a file: git is not run in this repository", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > maxConfig {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is larger than %d bytes: git is not run in this repository",
			path, maxConfig)
	}
	return data, nil
}

// writeSettings returns the text of a configuration with the given settings, in this order.
func writeSettings(settings []setting) []byte {
	var out bytes.Buffer
	for _, s := range settings {
		section, rest, _ := strings.Cut(s.key, ".")
		name := rest
		if last := strings.LastIndexByte(rest, '.'); last >= 0 {
			name = rest[last+1:]
			section += ` "` + quoted.Replace(rest[:last]) + `"`
		}
		fmt.Fprintf(&out, "[%s]\n\t%s = \"%s\"\n", section, name, quotedValue.Replace(s.value))
	}
	return out.Bytes()
}

var (
	quoted      = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	quotedValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
)
