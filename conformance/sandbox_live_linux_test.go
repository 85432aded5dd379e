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

// sandboxed is a flag with the names of harnesses that declare what their agent CLI needs in a sandbox.
// `make conformance` sets all of them, which takes ten minutes.
var sandboxed = flag.String("sandboxed", "codex", "harnesses whose quick checks run in a sandbox")

// These flags are for containers. There is no default, because everybody must make an image with the agent
// CLIs first: see docs/security.md.
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
