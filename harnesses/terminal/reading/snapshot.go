package reading

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"coleo.dev/pty"
)

// snapshotForm is the beginning of an encoded snapshot. An encoded snapshot has three parts:
//
//   - a line with snapshotForm and a checksum: the IEEE CRC-32, in hex, of everything after the line
//   - a line of JSON
//   - the bytes that pty.Core.Snapshot returned
const snapshotForm = "coleo snapshot 1 "

// Snapshot is the screen at one offset of the output. It also contains the other facts that a
// session needs to continue as if it had read all output before that offset.
type Snapshot struct {
	// identifies one start of the arm; a snapshot from another start is useless
	Nonce   string    `json:"nonce"`
	Offset  int64     `json:"offset"`
	Time    time.Time `json:"time"`             // when the snapshot was taken
	Pastes  bool      `json:"pastes,omitempty"` // bracketed paste was on at least once
	Notices []Notice  `json:"said,omitempty"`   // the newest notice of each kind
	Replies []Reply   `json:"owed,omitempty"`   // the replies to queries that the holder has not confirmed

	screen *pty.Core
}

// Notice is a message from the program to its terminal that the screen does not show.
type Notice struct {
	Kind pty.NoticeKind `json:"kind"`
	Text string         `json:"text"`
	Time time.Time      `json:"time"`
}

// Reply is what the terminal replies to queries of the program, such as a query for its colors. Offset is
// the offset in the program's output just after the queries.
type Reply struct {
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
}

// Core returns the emulator of the screen.
func (s *Snapshot) Core() *pty.Core { return s.screen }

// Encode returns the snapshot in its form on disk.
func (s *Snapshot) Encode() ([]byte, error) {
	head, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write a snapshot of the screen: %w", err)
	}
	return withFirstLine(append(append(head, '\n'), s.screen.Snapshot()...)), nil
}

// withFirstLine returns the encoded snapshot: its first line, and then body.
func withFirstLine(body []byte) []byte {
	return append(fmt.Appendf(nil, "%s%08x\n", snapshotForm, crc32.ChecksumIEEE(body)), body...)
}

// DecodeSnapshot decodes a snapshot that Encode returned. It returns an error if data is incomplete
// or damaged, or has another version.
func DecodeSnapshot(data []byte) (*Snapshot, error) {
	first, body, _ := bytes.Cut(data, []byte("\n"))
	if string(first) != fmt.Sprintf("%s%08x", snapshotForm, crc32.ChecksumIEEE(body)) {
		return nil, errors.New("it is damaged, or of another version")
	}
	head, screen, _ := bytes.Cut(body, []byte("\n"))
	out := &Snapshot{}
	if err := json.Unmarshal(head, out); err != nil {
		return nil, err
	}
	var err error
	out.screen, err = pty.Restore(screen)
	return out, err
}
