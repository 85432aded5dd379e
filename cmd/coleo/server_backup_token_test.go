package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A token is revoked after a backup. If the backup is brought back, the token must stay revoked.
func TestABackupBringsNoRevokedTokenBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	value := strings.TrimSpace(f.must("token", "create", "ci", "--expires", "30d"))
	if got := f.asOperator(value, "GET", "/api/arms", ""); got != 200 {
		t.Fatalf("a list with the token: %d, want 200", got)
	}
	f.must("backup", f.path("backup.tar.gz"))
	f.must("token", "revoke", "ci")
	f.must("down")
	for _, db := range []string{"serve.db", "host.db"} {
		for _, side := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(f.path("state/" + db + side))
		}
	}
	if out, err := exec.Command("tar", "-xzf", f.path("backup.tar.gz"), "-C", f.dir).CombinedOutput(); err != nil {
		t.Fatalf("unpack: %v\n%s", err, out)
	}
	f.must("up")
	if got := f.asOperator(value, "GET", "/api/arms", ""); got != 401 {
		t.Errorf("a list with the revoked token: %d, want 401", got)
	}
	if out := f.must("token", "list"); strings.Contains(out, "ci ") {
		t.Errorf("the tokens are\n%s", out)
	}
}
