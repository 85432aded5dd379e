package opencodeapi

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/record"
)

// fakeHolder is a holder that refuses some connections, as an overloaded holder does.
type fakeHolder struct {
	refused map[int]bool // the numbers of the refused connections; the first connection is number 1
	output  string       // the output of the program
}

// handle starts the holder, and returns the handle of its arm.
func (f fakeHolder) handle(t *testing.T) coleo.Handle {
	t.Helper()
	dir := t.TempDir()
	listener, err := net.Listen("unix", holder.SocketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for number := 1; ; number++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.answer(conn, f.refused[number])
		}
	}()
	return coleo.Handle{Dir: dir, Nonce: "n"}
}

// answer answers a client that proves itself and then follows the output.
func (f fakeHolder) answer(conn net.Conn, refuse bool) {
	defer conn.Close()
	hello := fmt.Sprintf(`{"status":{"nonce":"n","holder":{"pid":%d}}}`, os.Getpid())
	if refuse {
		hello = `{"error":{"code":"timeout","message":"it does not answer"}}`
	}
	if !skipFrame(conn) {
		return
	}
	writeFrame(conn, 'r', hello)
	if !refuse && skipFrame(conn) {
		writeFrame(conn, 'd', string(make([]byte, 8))+f.output) // the output begins at offset 0
	}
	_, _ = io.Copy(io.Discard, conn) // the program still runs
}

// skipFrame reads a frame of package holder's protocol, and reports whether there was one.
func skipFrame(conn net.Conn) bool {
	var head [5]byte // the type of the frame, and the size of its content
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return false
	}
	_, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[1:])))
	return err == nil
}

func writeFrame(conn net.Conn, kind byte, content string) {
	frame := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(content)))
	_, _ = conn.Write(append(frame, content...))
}

// A new host agent attaches to its arms on a loaded machine. If a holder does not answer in time, the server may still
// run. So the arm is not dead: the host agent must get an error and attach later.
func TestAHolderThatDoesNotAnswerInTimeIsNoDeadServer(t *testing.T) {
	t.Parallel()
	h, err := New(nil, record.NewWatcher())
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.open(fakeHolder{refused: map[int]bool{2: true, 3: true}}.handle(t), extra{})
	if err == nil {
		s.becomes(t, coleo.Dead, coleo.RuleProcess)
		t.Fatal("the session reports that the server has ended")
	}
	if coleo.ErrorCode(err) != coleo.ETimeout {
		t.Errorf("the error is %v", err)
	}
}

// The holder does not answer in time when the session looks for the server's address. The session must look again.
func TestTheAddressOfTheServerIsSoughtAgain(t *testing.T) {
	t.Parallel()
	h, err := New(nil, record.NewWatcher())
	if err != nil {
		t.Fatal(err)
	}
	f := newFakeServer(t)
	f.set(func(f *fakeServer) {
		f.routes["/session/one"] = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id":"one"}`) }
	})
	handle := fakeHolder{refused: map[int]bool{3: true}, output: "opencode server listening on " + f.url + "\n"}.handle(t)
	handle.Conversation = "one"
	s, err := h.open(handle, extra{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.becomes(t, coleo.Idle, "session.status idle")
}
