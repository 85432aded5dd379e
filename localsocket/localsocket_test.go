package localsocket

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/stranger"
)

func TestMain(m *testing.M) {
	stranger.Play(map[string]func([]string) int{"call": call, "answer": answer})
	os.Exit(m.Run())
}

// call connects to the socket at the path args[0] and sends one line. It prints how many bytes it
// received before the listener closed the connection.
func call(args []string) int {
	conn, err := net.Dial("unix", args[0])
	if err != nil {
		fmt.Println("refused:", err)
		return 1
	}
	_, _ = io.WriteString(conn, "let me in\n")
	got, _ := io.ReadAll(conn)
	fmt.Println("bytes:", len(got))
	return 0
}

// answer listens on the socket at the path args[0]. It prints how many bytes the first caller sent
// before the caller closed the connection.
func answer(args []string) int {
	l, err := net.Listen("unix", args[0])
	if err == nil {
		err = os.Chmod(args[0], 0o777)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("listening")
	conn, err := l.Accept()
	if err != nil {
		return 1
	}
	_, _ = io.WriteString(conn, "tell me\n")
	got, _ := io.ReadAll(conn)
	fmt.Println("bytes:", len(got))
	return 0
}

// private returns a folder that only this user can use.
func private(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// open gives a folder and its parent the given mode, as if by mistake, so that a stranger can reach
// it.
func open(t *testing.T, dir string, mode fs.FileMode) {
	t.Helper()
	for _, path := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
}

func line(t *testing.T, from *bufio.Reader, want string) {
	t.Helper()
	if got, err := from.ReadString('\n'); got != want+"\n" {
		t.Fatalf("the stranger printed %q (%v), want %q", got, err, want)
	}
}

// This test must not run in parallel with tests that start processes. Until a new child process
// runs its program, it keeps a copy of this test's listener open. The socket of the dead server
// would then still accept connections.
func TestAListenerTakesOverADeadSocketAndNothingElse(t *testing.T) {
	path := filepath.Join(private(t), "s.sock")
	l, err := Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v (%v), want 0600", info.Mode(), err)
	}
	if _, err := Listen(path, nil); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a second server: %v, want conflict", err)
	}
	l.UnixListener.Close() // as if the server had died
	if l, err = Listen(path, nil); err != nil {
		t.Fatalf("behind a dead server: %v", err)
	}
	l.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, nil); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("over a file: %v, want conflict", err)
	}
}

func TestAFolderThatOthersReachIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o755, 0o711, 0o770, 0o701} {
		dir := private(t)
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Listen(filepath.Join(dir, "s.sock"), nil); coleo.ErrorCode(err) != coleo.EForbidden {
			t.Errorf("Listen in a folder of mode %v = %v, want forbidden", mode, err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	dir := private(t)
	if err := os.Chown(dir, stranger.UID, stranger.UID); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(filepath.Join(dir, "s.sock"), nil); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("Listen in a folder of another user = %v, want forbidden", err)
	}
}

func TestTheSameUserIsConnectedAndKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(private(t), "s.sock")
	l, err := Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mine, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, end := range []syscall.Conn{mine, conn.(*net.UnixConn)} {
		if p, err := PeerOf(end); err != nil || p.UID != os.Geteuid() || p.PID != os.Getpid() {
			t.Errorf("PeerOf = %+v, %v; want this process", p, err)
		}
	}
}

// Another user can reach the socket, because its folder and its mode are too open. The listener
// must close this user's connection, and must send and read no byte.
func TestAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	dir := private(t)
	path := filepath.Join(dir, "s.sock")
	l, err := Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open(t, dir, 0o755)
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 2)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "a secret\n")
			accepted <- conn
			conn.Close()
		}
	}()
	_, out := stranger.Start(t, "call", path)
	line(t, bufio.NewReader(out), "bytes: 0")
	if len(accepted) != 0 {
		t.Error("Accept returned the connection of another user")
	}
	mine, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	mine.Close()
	<-accepted
}

// A stranger who listens in place of the user's server receives nothing.
func TestNothingIsSentToAnotherUser(t *testing.T) {
	t.Parallel()
	dir := private(t)
	open(t, dir, 0o777)
	path := filepath.Join(dir, "s.sock")
	_, out := stranger.Start(t, "answer", path)
	from := bufio.NewReader(out)
	line(t, from, "listening")
	conn, err := Dial(path)
	if coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("Dial = %v, want forbidden", err)
	}
	if err == nil {
		_, _ = io.WriteString(conn, "a secret\n")
		conn.Close()
	}
	line(t, from, "bytes: 0")
}
