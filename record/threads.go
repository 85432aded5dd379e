package record

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"coleo.dev/printable"
	"coleo.dev/wholefile"
)

// Conversations describes how to find, list and read the conversations of one agent CLI.
type Conversations struct {
	Source Source
	List   Catalogue // lists the conversations; nil if Coleo cannot list them
}

// In returns the conversations of an agent CLI for which the variable Source.FolderEnv names the given folder. If the
// folder is "", the variable names none.
func (c Conversations) In(folder string) Conversations {
	c.Source = c.Source.In(folder)
	if moved, ok := c.List.(interface{ In(folder string) Catalogue }); ok {
		c.List = moved.In(folder)
	}
	return c
}

// Catalogue lists the conversations of an agent CLI. It only reads. Several goroutines
// can use it at the same time.
type Catalogue interface {
	// Find returns the conversations below home. It reads no contents of files. It
	// returns no error if the agent CLI was never used in home.
	Find(ctx context.Context, home string) ([]Found, error)
	// Header reads the facts about the whole conversation from one record. It reads a limited
	// number of bytes. It returns an error if the record cannot be read.
	Header(home string, f Found) (Header, error)
}

// Found is one conversation that a Catalogue has found.
type Found struct {
	Name  string // the conversation's name within Path; "" if Path contains only one conversation
	Path  string // the file that contains the conversation
	Stamp string // a text that differs after each change of the conversation
	Size  int64  // size of the file in bytes; 0 if the file contains several conversations
}

// Hidden is the reason why lists leave out a conversation.
type Hidden string

// These are the reasons. If Hidden is "", lists show the conversation.
const (
	HiddenFork     Hidden = "fork"     // the conversation began as a copy of another one
	HiddenSubagent Hidden = "subagent" // the conversation is the work of a subagent
)

// Header contains what a record reveals about its whole conversation. A field is empty if the record does
// not reveal it.
type Header struct {
	ID      string // the id with which the agent CLI continues the conversation
	Folder  string // the work folder; an absolute path
	Title   string // the agent CLI's own title, or else the first prompt
	Begun   time.Time
	Last    time.Time
	Preview string // the last prompt or answer
	Prompts int    // the number of prompts in the part that was read
	Partly  bool   // true if only the beginning and the end of the record were read
	Hidden  Hidden
}

// Files is the Catalogue of an agent CLI that keeps each conversation in a file of lines.
type Files struct {
	Source  Source
	Decoder func() Decoder // returns a new Decoder
	// Line reads one line of the record, and sets the fields of h that the line reveals. It must accept
	// any line.
	Line func(line []byte, h *Header)
	// Beside reads other files beside the record, and sets the fields of h that they reveal. Beside can
	// be nil.
	Beside func(path string, h *Header)
}

const (
	// headBytes is the number of bytes that are read from the beginning of a record for its header.
	// The folder and the first prompt are in the first few lines.
	headBytes = 256 << 10
	// tailBytes is the number of bytes that are read from the end of a longer record for the last
	// message.
	tailBytes = 64 << 10
	// titleLength is the maximum length of a title or a preview, in characters.
	titleLength = 120
)

// validID matches the ids that are safe in a command line and in a path. An id that begins with "-"
// would be read as an option.
var validID = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$`)

// ValidID reports whether a text can be the id of a conversation. Callers must check an id that
// comes from the name of a file, because a file can have any name.
func ValidID(id string) bool { return validID.MatchString(id) }

// In returns the Catalogue of an agent CLI for which a variable names the given folder: see Conversations.In.
func (c Files) In(folder string) Catalogue {
	c.Source = c.Source.In(folder)
	return c
}

// Find returns the files that match the pattern of the Source.
func (c Files) Find(ctx context.Context, home string) ([]Found, error) {
	paths, err := c.Source.All(home)
	if err != nil {
		return nil, fmt.Errorf("list conversations: %w", err)
	}
	out := make([]Found, 0, len(paths))
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue // the file was deleted meanwhile, or is no record
		}
		stamp := fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
		out = append(out, Found{Path: path, Stamp: stamp, Size: info.Size()})
	}
	return out, nil
}

// Header reads the beginning and the end of the file.
func (c Files) Header(home string, f Found) (Header, error) {
	file, err := wholefile.OpenRegular(f.Path)
	if err != nil {
		return Header{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Header{}, err
	}
	h := Header{Partly: info.Size() > headBytes}
	head, err := readAt(file, 0, headBytes)
	if err != nil {
		return Header{}, err
	}
	decoder := c.Decoder()
	for _, line := range wholeLines(head, false) {
		c.Line(line, &h)
		h.add(decoder.Decode(line), true)
	}
	if h.Partly {
		tail, err := readAt(file, max(headBytes, info.Size()-tailBytes), tailBytes)
		if err != nil {
			return Header{}, err
		}
		decoder = c.Decoder()
		for _, line := range wholeLines(tail, true) {
			h.add(decoder.Decode(line), false)
		}
	}
	if c.Beside != nil {
		c.Beside(f.Path, &h)
	}
	return c.checkHeader(home, f, h, info)
}

// checkHeader completes a header. It returns an error if the record has no valid id, or if the id does
// not match the name of the record.
func (c Files) checkHeader(home string, f Found, h Header, info os.FileInfo) (Header, error) {
	if id, ok := c.Source.idIn(home, f.Path); ok {
		h.ID = id
	}
	if !ValidID(h.ID) || !c.Source.isPathOf(home, h.ID, f.Path) {
		return Header{}, fmt.Errorf("the record %s has no id that fits its name", f.Path)
	}
	if !filepath.IsAbs(h.Folder) || strings.ContainsRune(h.Folder, 0) {
		h.Folder = ""
	}
	if h.Last.IsZero() {
		h.Last = info.ModTime()
	}
	if h.Begun.IsZero() {
		h.Begun = h.Last
	}
	h.Title, h.Preview = OneLine(h.Title), OneLine(h.Preview)
	return h, nil
}

// add sets the fields of h that the entries reveal. fromBeginning is true if the entries are from the
// beginning of the record.
func (h *Header) add(entries []Entry, fromBeginning bool) {
	for _, e := range entries {
		if !e.Time.IsZero() {
			if h.Begun.IsZero() {
				h.Begun = e.Time
			}
			h.Last = e.Time
		}
		if e.Kind != Prompt && e.Kind != Answer || e.Kind == Prompt && !e.ByUser || e.Text == "" {
			continue
		}
		h.Preview = e.Text
		if e.Kind == Prompt && fromBeginning {
			h.Prompts++
			if h.Title == "" {
				h.Title = e.Text
			}
		}
	}
}

// OneLine returns a text as one line of at most titleLength characters, without invisible
// characters.
func OneLine(text string) string {
	if len(text) > 8*titleLength { // cut a very long text first, to limit the work
		text = text[:8*titleLength]
	}
	text = printable.Line(text)
	if utf8.RuneCountInString(text) <= titleLength {
		return text
	}
	return string([]rune(text)[:titleLength-1]) + "…"
}

// idIn returns the id in the path of a record. The result `ok` is false if the pattern does not show
// which part of a file's name is the id.
func (s Source) idIn(home, path string) (id string, ok bool) {
	folder, wanted := s.base(home)
	below, err := filepath.Rel(folder, path)
	if err != nil || s.ShortID > 0 {
		return "", false
	}
	pattern, names := strings.Split(wanted, "/"), strings.Split(filepath.ToSlash(below), "/")
	at := slices.IndexFunc(pattern, func(p string) bool { return strings.Contains(p, "{id}") })
	if at < 0 || len(pattern) != len(names) || strings.ContainsAny(pattern[at], "*?[") {
		return "", false
	}
	before, after, _ := strings.Cut(pattern[at], "{id}")
	return strings.TrimSuffix(strings.TrimPrefix(names[at], before), after), true
}

// isPathOf reports whether the path is the path of a record with the given id.
func (s Source) isPathOf(home, id, path string) bool {
	pattern := s.patternFor(Where{Home: home, Conversation: id})
	fits, err := filepath.Match(pattern, path)
	return err == nil && pattern != "" && fits
}

// readAt returns at most n bytes of a file, from the given offset.
func readAt(file *os.File, from, n int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(file, from, n))
}

// wholeLines returns the lines of p that have a line end. It leaves out the first line if
// startIsCut is true, because p then begins in the middle of a line.
func wholeLines(p []byte, startIsCut bool) [][]byte {
	lines := bytes.Split(p, []byte("\n"))
	lines = lines[:len(lines)-1] // the bytes after the last line end are an incomplete line
	if startIsCut && len(lines) > 0 {
		lines = lines[1:]
	}
	return lines
}
