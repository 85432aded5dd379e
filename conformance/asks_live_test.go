package conformance

import (
	"flag"
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/registry"
)

// asksOfCI contains the dialogs that CI checks. Coleo once read dialogs of these kinds wrongly.
const asksOfCI = "claude-code:notebook,mcp-server;codex:question,trust,sign-in;gemini:agents,trust"

var asksTested = flag.String("asks", asksOfCI, "dialogs to test, as NAME:DIALOGS;NAME:all")

// TestHarnessesAnswerWhatTheirAgentCLIAsks opens and answers some dialogs of each catalogue.
func TestHarnessesAnswerWhatTheirAgentCLIAsks(t *testing.T) {
	reg, err := registry.New("", testprogram.HoldCommand())
	if err != nil {
		t.Fatal(err)
	}
	for picked := range strings.SplitSeq(*asksTested, ";") {
		name, names, _ := strings.Cut(picked, ":")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := reg.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			list, err := PickAsks(h, names)
			if err != nil {
				t.Fatal(err)
			}
			report, err := RunAsks(t.Context(), h, Config{
				Dir: t.TempDir(), Path: agentPath(), Environ: os.Environ(), Probe: []string{os.Args[0], asProbe},
				Isolated: true, Log: func(line string) { t.Log(line) },
			}, list)
			if coleo.ErrorCode(err) == coleo.ENotInstalled && !required(name) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range report.Asks {
				if !a.Pass {
					t.Errorf("%s: %s", a.Name, a.Details)
				}
			}
		})
	}
}
