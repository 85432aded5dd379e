package start

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

// A newer Coleo has stored a configuration with a field that this version does not know. The field may be a protection,
// so the arm must not start without it. A fork must not start either, because it inherits the configuration.
func TestAConfigurationOfANewerVersionDoesNotStart(t *testing.T) {
	t.Parallel()
	for field, config := range map[string]string{
		"fence":          `{"workdir": "/w", "fence": true}`,
		"sandbox.shield": `{"workdir": "/w", "sandbox": {"kind": "bwrap", "shield": 1}}`,
		"":               `{"workdir": "/w", "sandbox": {"kind": "bwrap"}, "chosen": {"modes": {"plan": "m"}}}`,
	} {
		arm := coleo.Arm{Name: "one", Harness: "codex", Config: json.RawMessage(config)}
		_, stored := Stored(arm)
		_, again := (Rules{Harnesses: harnesses(t)}).Configure(&arm, wire.SpawnRequest{}, true)
		fork := Inherit(&coleo.Arm{Name: "two"}, arm, false)
		for what, err := range map[string]error{"a recovery": stored, "a start": again, "a fork": fork} {
			refused := coleo.ErrorCode(err) == coleo.EUnsupported && strings.Contains(err.Error(), field)
			if refused != (field != "") {
				t.Errorf("%s with %s: %v", what, config, err)
			}
		}
	}
}
