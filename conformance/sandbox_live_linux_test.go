package conformance

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/registry"
)

// sandboxed names harnesses that say what their agent CLI needs in a sandbox. All of them
// take ten minutes, so `make conformance` names all.
var sandboxed = flag.String("sandboxed", "codex", "harnesses whose quick checks run in a sandbox")

// These flags are for containers. Nobody has an image with the agent CLIs by default: docs/security.md says
// how to make one.
var (
	sandboxKind  = flag.String("sandbox-kind", "bwrap", "what makes the sandbox: bwrap, podman or docker")
	sandboxImage = flag.String("sandbox-image", "", "the image of podman or docker that contains the agent CLIs")
)

// TestHarnessesAreCompatibleInASandbox runs the quick checks with the agent CLI in a sandbox.
func TestHarnessesAreCompatibleInASandbox(t *testing.T) {
	if _, err := exec.LookPath(*sandboxKind); err != nil {
		if required(*sandboxKind) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	reg, err := registry.New("", testprogram.HoldCommand())
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(*sandboxed, ",") {
		t.Run(name, func(t *testing.T) {
			h, err := reg.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), h, Config{
				Dir: t.TempDir(), Path: agentPath(), Environ: os.Environ(), Probe: []string{os.Args[0], asProbe},
				Isolated: true, Sandbox: Boxed(coleo.Sandbox{Kind: coleo.SandboxKind(*sandboxKind),
					Image: *sandboxImage}), Log: func(line string) { t.Log(line) },
			}, Quick())
			if coleo.ErrorCode(err) == coleo.ENotInstalled && !required(name) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range report.Results {
				if r.Skipped {
					t.Logf("%s: %s", r.Name, r.Details)
				} else if !r.Pass {
					t.Errorf("%s: %s", r.Name, r.Details)
				}
			}
		})
	}
}
