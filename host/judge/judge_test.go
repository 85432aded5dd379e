package judge

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/policy"
	"coleo.dev/policy/files"
)

func TestTheRulesOfAllRepositoriesOfAnArmApply(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	a := Arm{Config: coleo.SpawnConfig{Workdir: top}}
	var folders []string
	for _, name := range []string{"app", "lib"} {
		folder := filepath.Join(top, name)
		folders = append(folders, folder)
		rule := "[[rule]]\ncommand = \"deploy-" + name + " *\"\ndecision = \"deny\"\n"
		for path, text := range map[string]string{".git/HEAD": "", files.ProjectFile: rule} {
			path = filepath.Join(folder, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	denied := func() (out []string) {
		scopes, err := scopesOf(files.Paths{}, a)
		if err != nil {
			t.Fatal(err)
		}
		for _, scope := range scopes {
			if scope.Name == "project" && scope.Untrusted {
				for _, rule := range scope.Rules {
					if rule.Verdict == policy.Deny {
						out = append(out, rule.Command)
					}
				}
			}
		}
		return out
	}
	if got := denied(); len(got) > 0 {
		t.Errorf("in a plain folder there are the rules %q", got)
	}
	a.Repositories = func() ([]string, error) { return folders, nil }
	if got := denied(); len(got) != 2 || got[0] != "deploy-app *" || got[1] != "deploy-lib *" {
		t.Errorf("the rules are %q", got)
	}
	a.Repositories = func() ([]string, error) { return []string{top + "/gone"}, nil }
	if _, err := scopesOf(files.Paths{}, a); err == nil {
		t.Error("rules that cannot be read have no error")
	}
}
