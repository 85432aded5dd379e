package proxy

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Decision is what happened to a connection.
type Decision string

// These are the decisions.
const (
	Allowed Decision = "allowed" // the proxy has connected to the server
	Refused Decision = "refused" // the sandbox may not reach the server, or the request was malformed
	Failed  Decision = "failed"  // the sandbox may reach the server, but the proxy could not connect
	Closed  Decision = "closed"  // an allowed connection has ended
)

// Entry is one line of the log.
type Entry struct {
	Time     time.Time `json:"time"`
	Decision Decision  `json:"decision"`
	Host     string    `json:"host,omitempty"` // empty if the proxy could not parse the request
	Port     uint16    `json:"port,omitempty"`
	Address  string    `json:"address,omitempty"` // the IP address to which the proxy has connected
	Reason   string    `json:"reason,omitempty"`  // reason of a refusal or a failure, for people
	Sent     int64     `json:"sent,omitempty"`    // bytes that the sandbox has sent; only for Closed
	Received int64     `json:"received,omitempty"`
}

// maxLog is the largest total size of a log's two files, in bytes.
const maxLog = 1 << 20

// Log writes one line of JSON for each entry. It keeps two files: the current one and an older one.
// When the current file would exceed half of maxLog, it becomes the older one, and Log begins a new
// file. So the newest entries are kept.
type Log struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenLog opens or makes the log file at `path`. The older file has the path with ".1" at its end.
func OpenLog(path string) (*Log, error) {
	l := &Log{path: path}
	return l, l.open()
}

func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Add writes an entry. If the disk is full, the entry is lost.
func (l *Log) Add(e Entry) {
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	line = append(line, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(line)) > maxLog/2 && l.size > 0 {
		old := l.file
		// If an earlier try has renamed the file, but could not begin a new one, there is nothing to rename.
		if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) || l.open() != nil {
			return // drop the entry, because the file must not exceed its bound
		}
		_ = old.Close()
	}
	n, _ := l.file.Write(line)
	l.size += int64(n)
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
