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
	Model  *Model // if not nil, the fake obeys the model instead of the words in its prompts
	// Orders is the path of a file with commands, one per line. At SIGUSR1, the fake begins a turn by itself with
	// these commands. If Orders is "", SIGUSR1 ends the fake.
	Orders string
}

// program is one running fake. It reads keys in one goroutine. Each turn runs in a separate
// goroutine.
type program struct {
	in  *os.File
	out io.Writer
	cfg Config
	rec *recorder

	turns sync.WaitGroup
	quit  chan int // receives the exit code; capacity 1

	mu              sync.Mutex
	state           string   // "", "idle", "busy", "dialog"
	dark            bool     // the fake draws nothing
	frozen          bool     // the fake does not react to input, until it ends
	foreign         bool     // the screen shows garbage until the next input
	transcript      []string // complete lines
	composer        string
	pending         string   // beginning of a key or paste whose rest has not arrived yet
	queue           []string // prompts that were submitted during a turn
	dialog          *dialog
	interrupt       context.CancelFunc // interrupts the turn; nil if there is no turn
	holding         bool               // the turn ignores interrupts
	lastCtrlC       time.Time
	loseUntil       time.Time
	submitsToIgnore int
	submitsToBreak  int
	ignored         map[string]bool
	leaving         time.Duration   // the time from a signal that ends the fake until it ends
	faults          map[string]bool // the permanent faults that are switched on, by the words for them
	mode            int             // index of the mode; see modes
	trying          string          // the number of the attempt, as text, while a request is repeated; otherwise ""
	refusals        map[string]int  // how often the command "fail" has refused each text
	unfinished      string          // the text that the command "next" tries again

	// The following fields are used only with a model. After the start, only the goroutine of the turn uses them.
	talk    []message
	always  map[string]bool // actions that the user has permanently allowed
	mcp     *mcpClient      // the client of the MCP server; nil without a server
	replies int             // number of replies of the model since the start
}

// Run plays an agent CLI on the given terminal. It returns the exit code for the process. The fake
// ends after any of these:
//   - a command, a signal, a Ctrl-D, or two Ctrl-C
//   - the end of the terminal or of ctx
//
// Run puts the terminal into raw mode, and restores the old mode at the end. After Run has returned
// because of ctx, a goroutine can still wait for input. Run returns an error if it cannot use the
// script, the record, the conversation, the MCP server or the terminal.
func Run(ctx context.Context, in *os.File, out io.Writer, c Config) (code int, err error) {
	if err := c.Script.check(); err != nil {
		return 1, fmt.Errorf("script: %w", err)
	}
	p := &program{in: in, out: out, cfg: c, rec: &recorder{out: io.Discard}, quit: make(chan int, 1),
		ignored: map[string]bool{}, faults: map[string]bool{}, always: map[string]bool{},
		refusals: map[string]int{}}
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

// connect loads the saved conversation and starts the MCP server, if the fake has them.
func (p *program) connect() (err error) {
	m := p.cfg.Model
	if m == nil {
		return nil
	}
	if err := m.beginNotes(); err != nil {
		return err
	}
	if p.talk, err = m.resume(); err != nil || len(m.MCP) == 0 {
		return err
	}
	p.mcp, err = startMCP(m.MCP)
	return err
}

// run reads keys and signals until the fake ends. It returns the exit code for the
// process.
func (p *program) run(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	p.write("\x1b[?2004h")
	defer p.write("\x1b[?2004l\x1b[?25h\r\n")
	defer p.turns.Wait()
	defer cancel()
	signals := make(chan os.Signal, 4) // enough for one signal of each kind
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGWINCH)
	if p.cfg.Orders != "" {
		signal.Notify(signals, syscall.SIGUSR1)
	}
	// This process catches these signals until it ends. Otherwise a second SIGHUP could kill the fake while it is
	// ending, and its exit code would be lost.
	input, stop := p.read()
	defer stop()

	p.lockedDo(func() { p.beginTurn(ctx, func(ctx context.Context) { p.runCommands(ctx, p.cfg.Script.Start) }) })
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
			if s == syscall.SIGUSR1 {
				p.beginByItself(ctx)
				continue
			}
			p.onSignal(s)
		case code := <-p.quit:
			return code
		case <-ctx.Done():
			return exitedBySignal + int(syscall.SIGTERM)
		}
	}
}

// read reads the terminal in the background, and sends the bytes to the returned channel. If the file supports
// deadlines, the function `stop` ends the reading at once. Otherwise the reading ends after the next input.
func (p *program) read() (input <-chan []byte, stop func()) {
	chunks, ended, done := make(chan []byte), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer close(chunks)
		for {
			b := make([]byte, 64<<10) // more than a terminal returns in one read
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

// exitedBySignal is added to the number of a signal. If a signal ends a process, shells report this
// sum as the exit code.
const exitedBySignal = 128

func (p *program) onSignal(s os.Signal) {
	name := map[os.Signal]string{syscall.SIGHUP: "hup", syscall.SIGTERM: "term"}[s]
	if name == "" && p.hasFault(brittle) {
		p.lockedDo(func() { p.end(1) })
		return
	}
	if name == "" {
		if !p.hasFault(stubborn) {
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

// hungUp ends the fake because its terminal is gone, unless the fake ignores SIGHUP.
func (p *program) hungUp() {
	p.rec.add(HungUp, "", nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ignored["hup"] {
		p.end(exitedBySignal + int(syscall.SIGHUP))
	}
}

// end ends the fake with an exit code. If end is called several times, the first code is used.
// After the command "leave", end first stops the turn and waits.
func (p *program) end(code int) {
	if p.leaving == 0 {
		p.quitWith(code)
		return
	}
	p.stopTurn()
	time.AfterFunc(p.leaving, func() { p.quitWith(code) })
}

func (p *program) quitWith(code int) {
	select {
	case p.quit <- code:
	default:
	}
}
