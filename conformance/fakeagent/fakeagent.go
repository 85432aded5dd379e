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

// Config is the configuration of one fake.
type Config struct {
	Script Script
	Record string // file that gets an Entry as a line of JSON each; none if empty
	Model  *Model // answers prompts instead of obeying their words; may be nil
}

// program is one running fake. Its turn runs beside the loop that reads keys.
type program struct {
	in  *os.File
	out io.Writer
	cfg Config
	rec *recorder

	turns sync.WaitGroup
	quit  chan int // exit code; holds one

	mu              sync.Mutex
	state           string   // "", "idle", "busy", "dialog"
	dark            bool     // nothing is drawn
	frozen          bool     // nothing is answered, permanently
	foreign         bool     // the screen is garbage until the next input
	transcript      []string // whole lines
	composer        string
	pending         string   // input that is not complete yet
	queue           []string // prompts that came while busy
	dialog          *dialog
	interrupt       context.CancelFunc // of the turn; nil without one
	holding         bool               // the turn ignores interrupts
	lastCtrlC       time.Time
	loseUntil       time.Time
	submitsToIgnore int
	submitsToBreak  int
	ignored         map[string]bool
	faults          map[string]bool // its faults from now on, by their words
	trying          string          // the attempt, while a request is repeated

	// With a model. These belong to the turn, except at the start.
	talk   []message
	always map[string]bool // what the user has allowed for ever
	mcp    *mcpClient      // nil without a server
}

// Run plays an agent CLI on a terminal until a command, a signal, two Ctrl-C, the end of
// the terminal or ctx ends it. It returns the exit code with which the process should
// end. in must be a terminal; Run puts it into raw mode and restores it at the end. When
// ctx ended Run, a read of in may still be pending. The error says that the script, the
// record, the MCP server or the terminal cannot be used.
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

// connect reads the kept conversation and starts the MCP server, where the model has
// them.
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

// run reads keys and signals until the program ends, and returns its exit code.
func (p *program) run(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	p.write("\x1b[?2004h")
	defer p.write("\x1b[?2004l\x1b[?25h\r\n")
	defer p.turns.Wait()
	defer cancel()
	signals := make(chan os.Signal, 4) // one of each kind
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGWINCH)
	// The signals stay caught to the very end. Otherwise a second SIGHUP while the fake
	// ends would kill it and replace its exit code.
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

// read reads the terminal in the background. stop ends the reading if the file supports
// deadlines; otherwise the next byte ends it.
func (p *program) read() (input <-chan []byte, stop func()) {
	chunks, ended, done := make(chan []byte), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer close(chunks)
		for {
			b := make([]byte, 64<<10) // a terminal returns less at once
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

// exitedBySignal plus the signal's number is the exit code that shells report.
const exitedBySignal = 128

func (p *program) signalled(s os.Signal) {
	name := map[os.Signal]string{syscall.SIGHUP: "hup", syscall.SIGTERM: "term"}[s]
	if name == "" && p.has(brittle) {
		p.set(func() { p.end(1) })
		return
	}
	if name == "" {
		p.redraw()
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

// hungUp ends the fake, unless it ignores SIGHUP.
func (p *program) hungUp() {
	p.rec.add(HungUp, "", nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ignored["hup"] {
		p.end(exitedBySignal + int(syscall.SIGHUP))
	}
}

// end makes the loop end; the first code counts.
func (p *program) end(code int) {
	select {
	case p.quit <- code:
	default:
	}
}
