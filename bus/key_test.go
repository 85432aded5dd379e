package bus

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/localsocket"
)

// A foreign process may listen at serve's socket in place of serve. It may receive the signature of a challenge
// that it has chosen. It must never receive a secret.
func TestNoSecretIsSentToWhoAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "bus.sock")
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	l, err := localsocket.Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	firstLine := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn,
			`INFO {"server_id":"x","version":"2.10.0","nonce":"chosen","auth_required":true,"max_payload":1048576}`+
				"\r\n")
		line, _ := bufio.NewReader(conn).ReadString('\n')
		firstLine <- line
	}()
	if c, err := Dial(path, key, "host"); err == nil {
		c.Close()
		t.Error("the impostor was taken for the bus")
	}
	seed, err := key.pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	got := <-firstLine
	var connect struct {
		Nkey      string `json:"nkey"`
		Signature string `json:"sig"`
		Token     string `json:"auth_token"`
		Password  string `json:"pass"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(got, "CONNECT ")), &connect); err != nil {
		t.Fatalf("the client said %q: %v", got, err)
	}
	if strings.Contains(got, string(seed)) || connect.Token+connect.Password != "" {
		t.Errorf("the client sent a secret: %s", got)
	}
	if connect.Nkey != key.public || connect.Signature == "" {
		t.Errorf("the client did not sign: %s", got)
	}
}

func TestTheKeyFileIsMadeOnceAndForItsOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bus.key")
	keys := make(chan Key, 8)
	for range cap(keys) {
		go func() {
			key, err := KeyFile(path)
			if err != nil {
				t.Error(err)
			}
			keys <- key
		}()
	}
	first := <-keys
	for range cap(keys) - 1 {
		if key := <-keys; key.public != first.public {
			t.Error("two processes that began at once have two keys")
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v (%v), want 0600", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := KeyFile(path); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("a key that the group can read = %v, want forbidden", err)
	}
	if err := os.WriteFile(path, []byte("none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := KeyFile(path); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("a file without a key = %v, want invalid", err)
	}
}
