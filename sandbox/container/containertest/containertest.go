// Package containertest makes images for tests of containers. An image contains a few programs of this
// machine and their libraries, so no network is needed.
package containertest

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/sandbox/container"
)

// Need skips a test if an engine cannot run containers here. If COLEO_REQUIRE names the engine, the
// test fails instead.
func Need(t *testing.T, kind coleo.SandboxKind) {
	t.Helper()
	err := container.Usable(t.Context(), kind, os.Environ())
	if err == nil {
		err = starts(t, kind)
	}
	if err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), string(kind)) {
		t.Fatal(err)
	}
	t.Skip(err)
}

// starts makes the engine start a container that does nothing. If the engine cannot start it, starts returns an
// error.
func starts(t *testing.T, kind coleo.SandboxKind) error {
	t.Helper()
	image := Image(t, kind, map[string]string{"/bin/true": "/bin/true"})
	out, err := exec.CommandContext(t.Context(), string(kind), "run", "--rm", "--network", "none", image,
		"/bin/true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s runs no container here: %w: %s", kind, err, out)
	}
	return nil
}

// Tools returns the programs that scripts in an image need.
func Tools() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"sh", "cat", "sleep", "stty", "true", "env", "ls", "id", "touch", "mkdir", "grep",
		"nproc", "kill", "tty"} {
		if path, err := exec.LookPath(name); err == nil {
			out["/bin/"+name] = path
		}
	}
	return out
}

// Image makes an image with `programs`, and returns the image's name. The keys of the map are paths in the
// image, and the values are paths on this machine. The image is removed at the end of the test.
func Image(t *testing.T, kind coleo.SandboxKind, programs map[string]string) string {
	t.Helper()
	files := maps.Clone(programs)
	for _, path := range programs {
		for _, library := range libraries(path) {
			files[library] = library
		}
	}
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	folders := map[string]bool{"/tmp": true, "/etc": true, "/run": true, "/proc": true, "/dev": true, "/sys": true}
	for inside := range files {
		for dir := filepath.Dir(inside); dir != "/"; dir = filepath.Dir(dir) {
			folders[dir] = true // list each folder, because docker would make a missing one with a mode that keeps users out
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		mode := int64(0o755)
		if dir == "/tmp" {
			mode = 0o1777
		}
		check(t, w.WriteHeader(&tar.Header{Name: dir[1:] + "/", Typeflag: tar.TypeDir, Mode: mode}))
	}
	for inside, path := range files {
		content, err := os.ReadFile(path)
		check(t, err)
		check(t, w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(inside, "/"), Mode: 0o755,
			Size: int64(len(content))}))
		_, err = w.Write(content)
		check(t, err)
	}
	// Each image has a different layer. Otherwise the removal of one image could remove a layer of
	// another image that the engine is about to make.
	id := strings.ToLower(rand.Text())
	check(t, w.WriteHeader(&tar.Header{Name: "etc/" + id, Mode: 0o644}))
	check(t, w.Close())
	name := "coleo-test:" + id
	cmd := exec.CommandContext(t.Context(), string(kind), "import", "-", name)
	cmd.Stdin = &text
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("import an image: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(string(kind), "rmi", "--force", name).Run() })
	return name
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var libraryForm = regexp.MustCompile(`(/[^ ]+) \(0x`)

// libraries returns the paths of the libraries that a program needs. A static program needs none.
func libraries(program string) (out []string) {
	text, err := exec.Command("ldd", program).Output()
	if err != nil {
		return nil
	}
	for _, found := range libraryForm.FindAllStringSubmatch(string(text), -1) {
		out = append(out, filepath.Clean(found[1]))
	}
	return out
}

// Left returns the containers with Coleo's labels that match a filter, including stopped ones.
func Left(t *testing.T, kind coleo.SandboxKind, filter string) []string {
	t.Helper()
	out, err := exec.Command(string(kind), "ps", "--all", "--quiet", "--filter", filter).Output()
	check(t, err)
	return strings.Fields(string(out))
}
