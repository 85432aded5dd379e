package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/brain"
	"coleo.dev/bus"
	"coleo.dev/bus/busserver"
	"coleo.dev/localsocket"
	"coleo.dev/registry"
	"coleo.dev/store"
)

// These constants limit serve's CPU time while 1,000 programs follow the events of all arms. 100 of the
// programs are slow and read one byte per second. The events come as often as in a fleet of 50 busy arms.
const (
	followers     = 1000
	slowFollowers = 100
	followRate    = 100 // events per second
	followTick    = 100 * time.Millisecond
	followWindow  = 20 * time.Second
	followBar     = 1.0 // in cores
)

// serveEvents runs in the measured process. It serves a store, a brain and an API at the socket
// s.sock in a folder. When it has read the first line of its input, it begins to record events.
func serveEvents(dir string) error {
	db, err := store.OpenServe(filepath.Join(dir, "serve.db"))
	if err != nil {
		return err
	}
	key, err := bus.NewKey()
	if err != nil {
		return err
	}
	server, err := busserver.Listen(filepath.Join(dir, "bus.sock"), key, nil)
	if err != nil {
		return err
	}
	conn, err := server.Dial("serve")
	if err != nil {
		return err
	}
	reg, err := registry.New("", []string{"none"})
	if err != nil {
		return err
	}
	b := brain.New(brain.Config{DB: db, Bus: conn, Registry: reg, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	s, err := api.New(api.Config{Brain: b})
	if err != nil {
		return err
	}
	l, err := localsocket.Listen(filepath.Join(dir, "s.sock"), nil)
	if err != nil {
		return err
	}
	go func() { must(b.Run(context.Background())) }()
	go func() { must(s.Serve(context.Background(), l, true)) }()
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	tick := time.NewTicker(followTick)
	for seq := uint64(1); ; {
		<-tick.C
		var list []coleo.Event
		for range int(followRate * followTick / time.Second) {
			e := logEvent(int(seq))
			e.Host, e.Epoch, e.Seq, e.Time = "h", "e", seq, time.Now()
			list, seq = append(list, e), seq+1
		}
		if err := db.Project(context.Background(), list); err != nil {
			return err
		}
	}
}

// BenchmarkFollowers measures serve's CPU time with 1,000 followers, and how late the fast
// followers receive an event.
func BenchmarkFollowers(b *testing.B) {
	dir, err := os.MkdirTemp("", "c") // short, because a socket's path must be short
	ok(b, err)
	defer os.RemoveAll(dir)
	cmd := exec.Command(os.Args[0], asServe, dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	ok(b, err)
	ok(b, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	socket := filepath.Join(dir, "s.sock")
	await(b, func() bool { time.Sleep(spin); _, err := os.Stat(socket); return err == nil })
	var got atomic.Int64
	late := make(chan time.Duration, 1<<20)
	for i := range followers {
		conn, err := net.Dial("unix", socket)
		ok(b, err)
		defer conn.Close()
		fmt.Fprint(conn, "GET /api/events HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
		if i%(followers/slowFollowers) == 0 {
			go drip(conn)
		} else {
			go count(conn, &got, late, i == 1)
		}
	}
	_, err = io.WriteString(in, "go\n")
	ok(b, err)
	// Waits until all followers receive events.
	await(b, func() bool { time.Sleep(spin); return got.Load() > followers })
	for b.Loop() {
		var runs []float64
		for range 3 {
			begin, before := time.Now(), cpuTime(b, []int{cmd.Process.Pid})
			time.Sleep(followWindow)
			runs = append(runs, (cpuTime(b, []int{cmd.Process.Pid})-before).Seconds()/time.Since(begin).Seconds())
		}
		bar(b, "cores", runs, followBar)
		var delays []time.Duration
		for len(late) > 0 {
			delays = append(delays, <-late)
		}
		// This delay has no limit and is only reported, because other programs cause more of it than Coleo does.
		b.ReportMetric(millis(at(delays, 95)), "late-p95-ms")
		b.ReportMetric(float64(got.Load()), "events")
	}
}

// drip reads one byte per second.
func drip(in io.Reader) {
	for one := make([]byte, 1); ; time.Sleep(time.Second) {
		if _, err := in.Read(one); err != nil {
			return
		}
	}
}

// count counts the events of a sequence. If `timed` is true, it also sends to `late` how late each event is.
func count(in io.Reader, got *atomic.Int64, late chan<- time.Duration, timed bool) {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		data, found := strings.CutPrefix(string(line), "data: ")
		if !found {
			continue
		}
		got.Add(1)
		var e coleo.Event
		if timed && json.Unmarshal([]byte(data), &e) == nil {
			late <- time.Since(e.Time)
		}
	}
}
