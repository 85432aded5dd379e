package container

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev"
)

// An engine can fail for a moment, for example because its daemon is busy. Its container then still runs.
func TestAContainerThatCannotBeInspectedIsNotRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id, err := identify("arm-1/2/0a1b")
	if err != nil {
		t.Fatal(err)
	}
	program, there := filepath.Join(dir, "engine"), filepath.Join(dir, "container")
	script := `#!/bin/sh
cd ` + dir + ` || exit 1
case "$1" in
ps) if [ -e container ]; then echo 123; fi;;
container) if mkdir failed 2>/dev/null; then echo "the daemon is busy" >&2; exit 1; fi
	echo "/` + id.name() + ` ` + id.mark + `";;
rm) rm container;;
esac
`
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := engine{coleo.SandboxDocker, program, os.Environ()}
	if err := e.remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(there); err == nil {
		t.Error("the container still runs, and Coleo says that it is removed")
	}
}
