package script_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace/script"
)

// TestTheListOfTrustedScriptsStaysReadable: the list has a largest size. A trust that would exceed it must fail and
// leave the list as it is. Otherwise nobody could read the list again, and no script would be trusted any more.
func TestTheListOfTrustedScriptsStaysReadable(t *testing.T) {
	t.Parallel()
	trusts := script.Trusts{File: filepath.Join(t.TempDir(), "trust.json")}
	var trusted []script.Script
	for n := 0; ; n++ {
		s := script.Script{Repository: fmt.Sprintf("/repository%d", n), Path: script.Setup, Hash: "hash"}
		for file := range 1000 {
			s.Files = append(s.Files, script.File{Path: fmt.Sprintf("%s/%d", strings.Repeat("d", 1000), file)})
		}
		if err := trusts.Trust(s, s.Hash); err != nil {
			if coleo.ErrorCode(err) != coleo.EConflict || n == 0 || !strings.Contains(err.Error(), "nothing is trusted") {
				t.Errorf("the error is %v", err)
			}
			break
		}
		trusted = append(trusted, s)
	}
	for _, s := range trusted {
		if err := trusts.Require(s); err != nil {
			t.Errorf("%s: %v", s.Repository, err)
		}
	}
	if err := trusts.Distrust(trusted[0].Repository, script.Setup); err != nil {
		t.Errorf("the end of a trust: %v", err)
	}
}

// TestTwoChangesOfTheTrustsBothCount: two commands can change the list of trusted scripts at the same moment. If one
// change were lost, a script whose trust the user has ended could still run.
func TestTwoChangesOfTheTrustsBothCount(t *testing.T) {
	t.Parallel()
	trusts := script.Trusts{File: filepath.Join(t.TempDir(), "trust.json")}
	const scripts = 20
	of := func(n int) script.Script {
		return script.Script{Repository: fmt.Sprintf("/repository%d", n), Path: script.Setup, Hash: "hash"}
	}
	for n := range scripts / 2 {
		if err := trusts.Trust(of(n), "hash"); err != nil {
			t.Fatal(err)
		}
	}
	var running sync.WaitGroup
	for n := range scripts {
		running.Go(func() {
			err := error(nil)
			if n < scripts/2 {
				err = trusts.Distrust(of(n).Repository, script.Setup)
			} else {
				err = trusts.Trust(of(n), "hash")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for n := range scripts {
		if _, trusted, err := trusts.Of(of(n)); err != nil || trusted != (n >= scripts/2) {
			t.Errorf("script %d: trusted %v, %v", n, trusted, err)
		}
	}
}
