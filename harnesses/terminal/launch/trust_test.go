package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/sjson"

	"coleo.dev"
	"coleo.dev/wholefile"
)

func TestTrustChangesOneValueOfTheUsersFile(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{
		"with others": "{\n  \"z\": 1.50,\n  \"projects\": {\"/other.d\": {\"hasTrustDialogAccepted\": false, \"n\": " +
			"12345678901234567890}},\n  \"a\": \"ü\"\n}\n",
		"without": `{"mine":1}`,
		"empty":   "{}",
		"missing": "",
	} {
		for _, workdir := range []string{"/tmp/a b", `/tmp/it's "so".d/x:1#@*?|!{}[]()=<>%`, "/tmp/ü/日本/🙂",
			"/a.b/c", `/back\slash`} {
			path := filepath.Join(t.TempDir(), "file.json")
			if before != "" {
				if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			if err := writeTrue(path, []string{"projects", workdir, "hasTrustDialogAccepted"}); err != nil {
				t.Fatalf("%s, %s: %v", name, workdir, err)
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var file struct {
				Projects map[string]struct{ HasTrustDialogAccepted bool }
			}
			if err := json.Unmarshal(raw, &file); err != nil || !file.Projects[workdir].HasTrustDialogAccepted {
				t.Errorf("%s, %s: the file is %s (%v)", name, workdir, raw, err)
			}
			for _, kept := range []string{`"z": 1.50`, `12345678901234567890`, `"a": "ü"`, `"mine":1`} {
				if strings.Contains(before, kept) && !strings.Contains(string(raw), kept) {
					t.Errorf("%s, %s: %s is gone from %s", name, workdir, kept, raw)
				}
			}
			info, err := os.Stat(path)
			if err != nil || before != "" && info.Mode().Perm() != 0o640 ||
				before == "" && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
			}
		}
	}
}

func TestTrustLeavesAloneWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "{", "[]", "not JSON", `{"a":1}}`} {
		path := filepath.Join(t.TempDir(), "file.json")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		err := writeTrue(path, []string{"projects", "/x", "y"})
		if raw, _ := os.ReadFile(path); coleo.ErrorCode(err) != coleo.EInvalid || string(raw) != before {
			t.Errorf("%q became %q: %v", before, raw, err)
		}
	}
}

// An agent CLI in a sandbox can make its own settings file as large as it likes, without writing data. Coleo
// must not read such a file.
func TestTrustReadsNoHugeFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file.json")
	if err := errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Truncate(path, mostEdited+1)); err != nil {
		t.Fatal(err)
	}
	err := writeTrue(path, []string{"a"})
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("a huge file: %v", err)
	}
}

func TestTrustKeepsALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(real, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := writeTrue(link, []string{"x"}); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != real {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if raw, _ := os.ReadFile(real); string(raw) != `{"x":true}` {
		t.Errorf("the file is %s", raw)
	}
}

// Several arms can start at the same time, for example by fan-out. Each start marks its own folder as trusted
// in the same file. No mark may get lost.
func TestTrustOfSeveralArmsIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(path, []byte(`{"mine":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const arms = 20
	var all sync.WaitGroup
	for i := range arms {
		all.Go(func() {
			if err := writeTrue(path, []string{"projects", fmt.Sprint("/", i), "y"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var file struct {
		Mine     int
		Projects map[string]struct{ Y bool }
	}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil || file.Mine != 1 || len(file.Projects) != arms {
		t.Errorf("the file trusts %d of %d folders: %s (%v)", len(file.Projects), arms, raw, err)
	}
}

// The agent CLI itself, or another process of Coleo, can replace the file after Coleo has read it. The new
// content must not get lost.
func TestTrustKeepsWhatTheAgentCLIHasWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(path, []byte(`{"login":"old"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	once := sync.OnceFunc(func() {
		if err := wholefile.Replace(path, []byte(`{"login":"new"}`), 0o600); err != nil {
			t.Error(err)
		}
	})
	set := func(raw []byte) ([]byte, error) {
		once()
		return sjson.SetBytes(raw, "y", true)
	}
	if err := editJSON(path, set); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != `{"login":"new","y":true}` {
		t.Errorf("the file is %s", raw)
	}
}
