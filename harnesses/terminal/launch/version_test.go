package launch

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheVersionOfAnInstalledProgramIsReadFromItsFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		program, link, file, text, pkg, want string
	}{
		"npm": {"lib/node_modules/@a/b/bin/x.js", "bin/x", "lib/node_modules/@a/b/package.json",
			`{"name":"@a/b","version":"1.2.3"}`, "npm:@a/b", "1.2.3"},
		"another package of npm": {"lib/node_modules/c/x.js", "bin/x", "lib/node_modules/c/package.json",
			`{"name":"c","version":"1.2.3"}`, "npm:@a/b", ""},
		"a package.json that is no JSON": {"lib/node_modules/c/x.js", "bin/x", "lib/node_modules/c/package.json",
			`{`, "npm:c", ""},
		"pip": {"v/bin/x", "bin/x", "v/lib/python3.12/site-packages/a_chat-0.86.2.dist-info/METADATA", "", "pip:a-chat",
			"0.86.2"},
		"installed by Coleo": {".versions/mine/4.5/bin/x", "bin/x", "other", "", "", "4.5"},
		"a tag":              {".versions/mine/latest/bin/x", "bin/x", "other", "", "npm:mine", ""},
		"npm knows better": {".versions/mine/4.5/node_modules/mine/x", "bin/x",
			".versions/mine/4.5/node_modules/mine/package.json", `{"name":"mine","version":"4.6"}`, "npm:mine", "4.6"},
		"nothing is known": {"opt/x", "bin/x", "other", "", "npm:mine", ""},
		"no version":       {"c/x", "bin/x", "c/package.json", `{"name":"c","version":"\u001b[2J"}`, "npm:c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for path, text := range map[string]string{c.program: "", c.file: c.text} {
				path = filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(dir, c.link)
			if err := os.Symlink(filepath.Join(dir, c.program), link); err != nil {
				t.Fatal(err)
			}
			if got := InstalledVersion(link, c.pkg); got != c.want {
				t.Errorf("the version is %q, want %q", got, c.want)
			}
		})
	}
	if got := InstalledVersion(filepath.Join(t.TempDir(), "absent"), "npm:x"); got != "" {
		t.Errorf("the version of a program that is absent is %q", got)
	}
}
