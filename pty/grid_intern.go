package pty

// An internTable stores each string only once, and gives it a number. A cell stores the number
// instead of the string.
type internTable struct {
	ids  map[string]uint32
	list []string
}

func (t *internTable) at(i uint32) string {
	if int(i) >= len(t.list) {
		return ""
	}
	return t.list[i]
}

func (t *internTable) id(s string) uint32 {
	if id, ok := t.ids[s]; ok {
		return id
	}
	if t.ids == nil {
		t.ids = make(map[string]uint32)
	}
	id := uint32(len(t.list))
	t.ids[s], t.list = id, append(t.list, s)
	return id
}

// clusterID returns the number of a text in the table of clusters. A cluster is one character with
// its combining marks.
func (c *Core) clusterID(text string) uint32 {
	if len(c.clusters.list) >= max(c.clusterLimit, minClusters) {
		c.collectClusters()
		c.clusterLimit = 2 * len(c.clusters.list)
	}
	return c.clusters.id(text)
}

// minClusters is the number of clusters below which clusterID does not look for unused clusters.
// Such a search is slow, because it reads all cells.
const minClusters = 4096

// collectClusters drops the clusters that no cell uses anymore.
func (c *Core) collectClusters() {
	old := c.clusters
	c.clusters = internTable{}
	c.eachCell(func(x *cell) {
		if x.ch&cluster != 0 {
			x.ch = x.ch&^charMask | c.clusters.id(old.at(x.ch&charMask))
		}
	})
}

// maxLinks is the largest number of targets of OSC 8 links. maxLinkTarget is the largest size of a
// target, in bytes.
const (
	maxLinks      = 4096
	maxLinkTarget = 2048
)

// linkID returns the value of style.link for a target. It returns 0 if the target is "", or if the
// screen already has too many links.
func (c *Core) linkID(target string) uint16 {
	if target == "" {
		return 0
	}
	if len(c.links.list) >= maxLinks {
		// Leave out some links before the next search, because a search of all cells for each new link would be slow.
		if c.linkPatience > 0 {
			c.linkPatience--
			return 0
		}
		c.collectLinks()
		if len(c.links.list) > maxLinks/2 {
			c.linkPatience = maxLinks
		}
	}
	if len(c.links.list) >= maxLinks {
		return 0
	}
	return uint16(c.links.id(target)) + 1
}

func (c *Core) collectLinks() {
	old := c.links
	c.links = internTable{}
	move := func(s *style) {
		if s.link != 0 {
			s.link = uint16(c.links.id(old.at(uint32(s.link-1)))) + 1
		}
	}
	c.eachCell(func(x *cell) { move(&x.style) })
	move(&c.main.saved.pen)
	move(&c.alt.saved.pen)
}

// eachCell calls f with each cell that the rows store, including the cells that a smaller screen size
// hides.
func (c *Core) eachCell(f func(*cell)) {
	for _, b := range []*buffer{&c.main, &c.alt} {
		for _, rows := range [][]*row{b.rows, b.above, b.below} {
			for _, r := range rows {
				r.each(f)
			}
		}
	}
}

func (r *row) each(f func(*cell)) {
	for x := range r.cells {
		f(&r.cells[x])
	}
	for x := range r.beforeNarrowing {
		f(&r.beforeNarrowing[x])
	}
	f(&r.rest)
}
