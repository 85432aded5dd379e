package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// fault is what a fake OpenCode server does wrong. The server reads it from a file with the name
// "fault" in the folder of its program.
type fault string

const (
	noFault       fault = ""
	wrongPassword fault = "it refuses the password"
	halfEvents    fault = "it sends half of an event"
	noJSON        fault = "it sends no JSON"
	halfJSON      fault = "it sends half of a document"
	negative      fault = "it has negative prices"
)

// playFakeOpenCode runs a fake OpenCode server. The server has one idle conversation and no model.
func playFakeOpenCode() int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	text, _ := os.ReadFile(filepath.Join(filepath.Dir(self), "fault"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	fmt.Printf("opencode server listening on http://%s\n", l.Addr())
	s := &fakeOpenCode{fault: fault(text)}
	fmt.Println(http.Serve(l, s))
	return 1
}

type fakeOpenCode struct {
	fault   fault
	streams atomic.Int32
}

const fakeCatalogue = `{"all":[{"id":"p","models":{"m":{"id":"m","cost":{"input":1,"output":2}}}}],"connected":["p"]}`

func (s *fakeOpenCode) catalogue() string {
	switch s.fault {
	case noJSON:
		return "<html>\n<b>no</b>"
	case halfJSON:
		return fakeCatalogue[:40]
	case negative:
		return strings.Replace(fakeCatalogue, `"input":1`, `"input":-1`, 1)
	default:
		return fakeCatalogue
	}
}

func (s *fakeOpenCode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.fault == wrongPassword:
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	case r.URL.Path == "/event":
		s.stream(w, r)
	case r.URL.Path == "/provider":
		_, _ = io.WriteString(w, s.catalogue())
	case r.URL.Path == "/session" && r.Method == http.MethodPost:
		_, _ = io.WriteString(w, `{"id":"ses_1"}`)
	case r.URL.Path == "/session/status":
		_, _ = io.WriteString(w, `{}`)
	default:
		_, _ = io.WriteString(w, `[]`)
	}
}

// stream sends the server's events. If the fault is halfEvents, the first two streams end in the
// middle of an event.
func (s *fakeOpenCode) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if s.fault == halfEvents && s.streams.Add(1) <= 2 {
		_, _ = io.WriteString(w, "data: {\"type\":\"server.conn")
		return
	}
	_, _ = io.WriteString(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
