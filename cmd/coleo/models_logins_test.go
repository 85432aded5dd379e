package main

import (
	"reflect"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

func TestM5ModelsTellsWhoIsLoggedInAndWhatIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	spec := strings.Replace(w.read("config/harnesses/fake.toml"), `["FAKE_API_KEY"]`,
		"[\"FAKE_API_KEY\"]\ncredentials_files = [\"fake-login.json\"]", 1)
	w.write("config/harnesses/fake.toml", spec)
	f := w.spawnFake("one")
	f.must("arm", "model", f.name, "p/m1")
	client, err := w.client()
	w.check(err)
	models, err := client.Models(t.Context())
	w.check(err)
	if len(models.Models) == 0 || !reflect.DeepEqual(models.Models[0], wire.Model{Provider: "p", Model: "m1", Uses: 1}) {
		t.Errorf("the models are %+v, want that of the arm first", models.Models)
	}
	if got := loginOf(models, "fake"); got.LoggedIn || len(got.Env)+len(got.Files) != 0 {
		t.Errorf("the login of the fake is %+v, want none", got)
	}
	if out := w.must("models", "logins"); !strings.Contains(out, "fake") {
		t.Errorf("models logins =\n%s", out)
	}
}

func loginOf(m wire.Models, harness string) coleo.Login {
	for _, l := range m.Logins {
		if l.Harness == harness {
			return l
		}
	}
	return coleo.Login{Harness: "missing"}
}
