package pty

// edgeMisses returns the edge cases that Core shows differently from xterm.js, with the reasons.
// TestEdges fails if another case differs, or if a listed case does not differ.
func edgeMisses() map[string]string {
	const (
		origin = "xterm.js counts the region twice in relative moves, " +
			"and neither keeps origin mode in DECSC nor reports from the region: DEC, xterm and tmux do"
		cursor = "xterm.js does not wrap the line with the cursor anew and drops what no longer fits: " +
			"here no text gets lost"
	)
	return map[string]string{
		"DECOM/CUU":          origin,
		"DECOM/saved":        origin,
		"DECOM/reply of CPR": origin,
		"SU": "xterm.js drops the rows that SU scrolls off the top: here, " +
			"as in xterm and tmux, they are history",
		"SGR/RGB colons without": "xterm.js takes the first number for a colour space even if only three follow: " +
			"xterm does not",
		"resize/cursor in the text": cursor,
		"resize/both":               cursor,
		"resize/alt, then back":     cursor,
	}
}
