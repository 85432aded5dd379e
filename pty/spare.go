package pty

// Sequences that touch every cell of many rows take a thousand times as long as others of
// their length. They are SL, SR, DECIC, DECDC, DECSED on a full screen, and REP of more
// than freeRepeats cells. So they have an allowance of cells, which every byte of output
// adds to. A sequence beyond the allowance is ignored. No program seen comes near it: on
// 120x40 it is enough for 430 such sequences at once, and then for one every 300 bytes.
const (
	mostSpare    = 2 << 20 // cells: moving them takes some 10 ms
	sparePerByte = 16
	freeRepeats  = 128 // cells that one REP may take without an allowance
	rowCells     = 32  // cells that a scroll counts as
	eraseCells   = 8   // cells that one check for protection counts as
)

// afford reports whether so many cells may be touched, and deducts them from the
// allowance.
func (c *Core) afford(cells int) bool {
	c.earn()
	if cells > c.spare {
		return false
	}
	c.spare -= cells
	return true
}

// earn adds to the allowance for the bytes since the last call.
func (c *Core) earn() {
	c.spare = min(c.spare+min(c.taken-c.earned, mostSpare)*sparePerByte, mostSpare)
	c.earned = c.taken
}
