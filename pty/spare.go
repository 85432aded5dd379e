package pty

// Sequences that touch every cell of many rows (SL, SR, DECIC, DECDC, DECSED on
// a full screen, REP of more than freeRepeats cells) take a thousand times as long as
// others of their length. So they have an allowance of cells, which every byte
// of output adds to; beyond it they are ignored. No program seen comes
// near: on 120x40 it is enough for 430 such sequences at once, and then for one
// every 300 bytes.
const (
	mostSpare    = 2 << 20 // cells: to move them takes some 10 ms
	sparePerByte = 16
	freeRepeats  = 128 // cells that one REP may take without an allowance
	rowCells     = 32  // that a scroll counts as
	eraseCells   = 8   // that looking whether a cell is protected counts as
)

// afford tells whether so many cells may be touched, and takes them off the
// allowance.
func (c *Core) afford(cells int) bool {
	c.earn()
	if cells > c.spare {
		return false
	}
	c.spare -= cells
	return true
}

// earn adds what the bytes since the last time allow.
func (c *Core) earn() {
	c.spare = min(c.spare+min(c.taken-c.earned, mostSpare)*sparePerByte, mostSpare)
	c.earned = c.taken
}
