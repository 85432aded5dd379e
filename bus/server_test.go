package bus

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/localsocket"
)

func TestOnlyTheRightKeyEntersTheBus(t *testing.T) {
	t.Parallel()
	path := socket(t)
	s, err := Listen(path, newKey(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Dial(path, newKey(t), "another"); coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Fatalf("dial with another key = %v", err)
	}
}

// An arm's agent CLI can read the host agents' key, and could use it to act as a host agent. A
// connection with this key must not be able to give orders.
func TestAHostAgentsKeyGivesNoOrders(t *testing.T) {
	t.Parallel()
	path, key := socket(t), newKey(t)
	s, err := Listen(path, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var host [2]*Conn
	for i := range host {
		if host[i], err = Dial(path, key, "host"); err != nil {
			t.Fatal(err)
		}
		defer host[i].Close()
	}
	ordered := make(chan Op, 2)
	err = host[0].Serve(t.Context(), "victim", func(_ context.Context, op Op, _ json.RawMessage) (any, error) {
		ordered <- op
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := host[1].Ask(ctx, "victim", OpRespond, RespondOrder{Arm: "a"}, nil); err == nil {
		t.Error("a host agent's order was answered")
	}
	serve, err := s.Dial("serve")
	if err != nil {
		t.Fatal(err)
	}
	defer serve.Close()
	if err := serve.Ask(t.Context(), "victim", OpList, nil, nil); err != nil {
		t.Fatal(err)
	}
	if first := <-ordered; first != OpList {
		t.Errorf("the host agent was ordered to %q by another host agent", first)
	}
}

// A process that listens at serve's socket in serve's place may receive a signature of a challenge
// that it has chosen. It must not receive a secret.
func TestNoSecretIsSentToWhoAnswers(t *testing.T) {
	t.Parallel()
	path, key := socket(t), newKey(t)
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
