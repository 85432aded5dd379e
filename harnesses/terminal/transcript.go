package terminal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/paths"
)

const (
	// mostTranscript is the largest size in bytes of an agent CLI's file that Coleo reads. After weeks of one
	// conversation, the file of the conversation has some hundred megabytes. The limit is needed because an
	// agent CLI in a sandbox can make a file of any size that takes no space on the disk.
	mostTranscript = 4 << 30
	// mostEntry is the largest size in bytes of a line that EachEntry reads. It is enough for some large
	// images.
	mostEntry = 128 << 20
)

// OpenWritten opens a file that an agent CLI has written. It returns EUnsupported if the file is not a
// regular file, or has more than mostTranscript bytes. The agent CLI could replace the file by a pipe, and
// a program that opens or reads a pipe can wait forever. So OpenWritten opens the file without waiting.
func OpenWritten(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := checkWritten(file); err != nil {
		return nil, err
	}
	return file, nil
}

// checkWritten checks the type and the size of an open file, as OpenWritten describes. Before it
// returns an error, it closes the file.
func checkWritten(file *os.File) error {
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = coleo.Errorf(coleo.EUnsupported, "%s is not a file", file.Name())
	case info.Size() > mostTranscript:
		err = coleo.Errorf(coleo.EUnsupported, "%s has more than %d GB", file.Name(), mostTranscript>>30)
	default:
		return nil
	}
	return errors.Join(err, file.Close())
}

// ReadWrittenIn reads a file that an agent CLI has written below the given folder. It returns the last
// `most` bytes of the file, or the whole file if it is shorter. It follows no link out of the folder,
// because an agent CLI in a sandbox could otherwise make Coleo read files that the sandbox hides.
func ReadWrittenIn(folder, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := checkWritten(file); err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(-most, io.SeekEnd); err != nil { // seeking fails if the file has fewer bytes than `most`
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// EachEntry calls the given function with each entry of a transcript of JSON lines. It skips lines
// that are not JSON of type T, and lines of more than mostEntry bytes. It also skips a last line without a line end,
// because the agent CLI is still writing that line. It returns an error only if it cannot open the file.
func EachEntry[T any](path string, take func(T)) error {
	file, err := OpenWritten(path)
	if err != nil {
		return fmt.Errorf("read transcript: %w", err)
	}
	defer file.Close()
	var line []byte
	for r, long := bufio.NewReader(file), false; ; {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > mostEntry; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil
		}
		var entry T
		if !long && json.Unmarshal(line, &entry) == nil {
			take(entry)
		}
		line, long = line[:0], false
	}
}

// IsPromptOf reports whether a prompt in a transcript is the prompt of a receipt. The agent CLI can have reworded the
// prompt. So any prompt counts that was written at the time of the receipt or later.
func IsPromptOf(r coleo.Receipt, text string, written time.Time) bool {
	return !written.Before(r.Time.Truncate(time.Millisecond)) || slices.Equal(strings.Fields(text), strings.Fields(r.Text))
}

// transcriptAnswer returns the model's last text after the prompt of the receipt. The text is empty if the
// transcript does not contain such a text yet, or if the last prompt in the transcript is another one.
func transcriptAnswer(t *rules.Transcript, f Facts, r coleo.Receipt) (coleo.Answer, error) {
	path, err := transcriptPath(t, f)
	if err != nil || path == "" {
		return coleo.Answer{}, err
	}
	if info, err := os.Stat(path); err != nil || info.ModTime().Before(r.Time) {
		return coleo.Answer{}, nil // the file contains no entry of this turn
	}
	search := t.Search(r.Text)
	err = EachEntry(path, search.Take)
	return coleo.Answer{Text: search.Answer(), Source: "transcript"}, err
}

// transcriptPath returns the path of the conversation's transcript, or "" if no file matches. Of
// several files, it returns the one whose name sorts last.
func transcriptPath(t *rules.Transcript, f Facts) (string, error) {
	if f.Conversation == "" && strings.Contains(t.File, "{id}") {
		return "", nil
	}
	found, err := filepath.Glob(filepath.Join(paths.Quote(f.Home), strings.ReplaceAll(t.File, "{id}", f.Conversation)))
	if err != nil {
		return "", fmt.Errorf("find transcript: %w", err)
	}
	return slices.Max(append(found, "")), nil
}
