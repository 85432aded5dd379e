package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Config is the configuration of a fake.
type Config struct {
	Script Script
	Record string // file to which each Entry is written as a line of JSON; "" for no record
	Model  *Model // answers prompts, so that the fake does not obey their words; may be nil
}

// program is one running fake. A turn runs in its own goroutine, beside the loop that
// reads keys.
type program struct {
	in  *os.File
	out io.Writer
	cfg Config
	rec *recorder

	turns sync.WaitGroup
	quit  chan int // exit code; has room for one

	mu              sync.Mutex
	state           string   // "", "idle", "busy", "dialog"
	dark            bool     // the fake draws nothing
	frozen          bool     // the fake permanently answers nothing
	foreign         bool     // the screen shows garbage until the next input
	transcript      []string // complete lines
	composer        string
	pending         string   // input that is still incomplete
	queue           []string // prompts that came while the fake was busy
	dialog          *dialog
	interrupt       context.CancelFunc // interrupts the turn; nil if there is no turn
	holding         bool               // the turn ignores interrupts
	lastCtrlC       time.Time
	loseUntil       time.Time
	submitsToIgnore int
	submitsToBreak  int
	ignored         map[string]bool
	faults          map[string]bool // the permanent faults that are on, by their words
	trying          string          // names the attempt while a request is repeated

	// The following fields are used only with a model. The start sets them. After that,
	// only the goroutine of the turn uses them.
	talk   []message
	always map[string]bool // actions that the user has allowed permanently
	mcp    *mcpClient      // nil if there is no server
}

// Run plays an agent CLI on a terminal. It ends when a command, a signal, two Ctrl-C,
// the end of the terminal or the end of ctx ends the fake. It returns the exit code
// that the process should have. The file in must be a terminal. Run puts it into raw
// mode, and restores its mode at the end. If ctx has ended Run, a read of in may still
// be waiting. Run returns an error if it cannot use the script, the record, the MCP
// server or the terminal.
func Run(ctx context.Context, in *os.File, out io.Writer, c Config) (code int, err error) {
	if err := c.Script.check(); err != nil {
		return 1, fmt.Errorf("script: %w", err)
	}
	p := &program{in: in, out: out, cfg: c, rec: &recorder{out: io.Discard}, quit: make(chan int, 1),
		ignored: map[string]bool{}, faults: map[string]bool{}, always: map[string]bool{}}
	if c.Record != "" {
		f, err := os.OpenFile(c.Record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return 1, fmt.Errorf("open record: %w", err)
		}
		defer func() { err = errors.Join(err, p.rec.err, f.Close()) }()
		p.rec.out = f
	}
	if err := p.connect(); err != nil {
		return 1, err
	}
	if p.mcp != nil {
		defer p.mcp.close()
	}
	restore, err := makeRaw(in)
	if err != nil {
		return 1, fmt.Errorf("put terminal into raw mode: %w", err)
	}
	defer restore()
	p.rec.add(Started, strconv.Itoa(os.Getpid()), nil)
	code = p.run(ctx)
	p.rec.add(Ended, strconv.Itoa(code), nil)
	return code, nil
}

// connect reads the kept conversation and starts the MCP server, if the model has them.
func (p *program) connect() (err error) {
	m := p.cfg.Model
	if m == nil {
		return nil
	}
	if p.talk, err = m.resume(); err != nil || len(m.MCP) == 0 {
		return err
	}
	p.mcp, err = startMCP(m.MCP)
	return err
}

// run reads keys and signals until the program ends. It returns the program's exit
// code.
func (p *program) run(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	p.write("\x1b[?2004h")
	defer p.write("\x1b[?2004l\x1b[?25h\r\n")
	defer p.turns.Wait()
	defer cancel()
	signals := make(chan os.Signal, 4) // one of each kind
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGWINCH)
	// The signals are caught until the program has ended. Otherwise a second SIGHUP
	// could kill the fake while it ends. Then its exit code would be lost.
	input, stop := p.read()
	defer stop()

	p.set(func() { p.begin(ctx, func(ctx context.Context) { p.turn(ctx, p.cfg.Script.Start) }) })
	for {
		select {
		case b, ok := <-input:
			if !ok {
				input = nil
				p.hungUp()
				continue
			}
			p.keys(ctx, b)
		case s := <-signals:
			p.signalled(s)
		case code := <-p.quit:
			return code
		case <-ctx.Done():
			return exitedBySignal + int(syscall.SIGTERM)
		}
	}
}

// read reads the terminal in the background. The function stop ends the reading at once
// if the file supports deadlines. Otherwise the reading ends after the next byte.
func (p *program) read() (input <-chan []byte, stop func()) {
	chunks, ended, done := make(chan []byte), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer close(chunks)
		for {
			b := make([]byte, 64<<10) // a terminal never returns as much at once
			n, err := p.in.Read(b)
			if n > 0 {
				p.rec.add(Bytes, "", b[:n])
				select {
				case chunks <- b[:n]:
				case <-ended:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return chunks, func() {
		close(ended)
		if p.in.SetReadDeadline(time.Now()) == nil {
			<-done
			_ = p.in.SetReadDeadline(time.Time{})
		}
	}
}

// exitedBySignal is added to the number of a signal to get the exit code that shells
// report.
const exitedBySignal = 128

func (p *program) signalled(s os.Signal) {
	name := map[os.Signal]string{syscall.SIGHUP: "hup", syscall.SIGTERM: "term"}[s]
	if name == "" && p.has(brittle) {
		p.set(func() { p.end(1) })
		return
	}
	if name == "" {
		if !p.has(stubborn) {
			p.redraw()
		}
		return
	}
	p.rec.add(Signalled, name, nil)
	number, _ := s.(syscall.Signal)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ignored[name] {
		p.end(exitedBySignal + int(number))
	}
}

// hungUp ends the fake when its terminal is gone, unless the fake ignores SIGHUP.
func (p *program) hungUp() {
	p.rec.add(HungUp, "", nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ignored["hup"] {
		p.end(exitedBySignal + int(syscall.SIGHUP))
	}
}

// end makes the loop end. If end is called several times, the first code counts.
func (p *program) end(code int) {
	select {
	case p.quit <- code:
	default:
	}
}
