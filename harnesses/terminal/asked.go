package terminal

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
)

var _ coleo.ToolAsker = (*session)(nil)

// AskedTool implements coleo.ToolAsker. It waits up to reading.ToolAsks until the hook has reported a tool
// call that fits the dialog. First it passes all reports in the hook's file to the Reader. Otherwise it
// could return an earlier call, although the file already contains the report of the call that the dialog
// asks about.
func (s *session) AskedTool(ctx context.Context, dialog coleo.Fingerprint) (coleo.ToolRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, reading.ToolAsks)
	defer cancel()
	for {
		q, looked, err := s.askedTool(dialog)
		if coleo.ErrorCode(err) != coleo.EUnsupported {
			return q, err
		}
		select {
		case <-looked:
		case <-ctx.Done():
			return q, err
		}
	}
}

func (s *session) askedTool(dialog coleo.Fingerprint) (coleo.ToolRequest, <-chan struct{}, error) {
	w, unlock := s.live.watch()
	defer unlock()
	w.takeReports(time.Now())
	q, err := w.AskedTool(dialog)
	return q, w.next(), err
}
