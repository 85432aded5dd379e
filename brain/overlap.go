package brain

import "coleo.dev"

// overlaps says which arms are being started again, and which are being removed. A start that overlaps a
// removal would begin without the arm's settings, such as its model server, because the removal deletes them.
type overlaps struct {
	starts   map[string]int // the number of starts in progress, by arm id
	removals map[string]bool
}

// beginStart notes that an arm is started again, until end is called. It returns EBusy while the arm is being
// removed. The caller must then read the arm again.
func (b *Brain) beginStart(arm coleo.Arm) (end func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.removals[arm.ID] {
		return nil, coleo.Errorf(coleo.EBusy, "another command removes arm %s now: nothing was started", arm.Name)
	}
	b.starts[arm.ID]++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.starts[arm.ID]--; b.starts[arm.ID] == 0 {
			delete(b.starts, arm.ID)
		}
	}, nil
}

// beginRemoval notes that an arm is removed, until end is called. It returns EBusy while the arm is being started
// again, or removed. The caller must then read the arm again.
func (b *Brain) beginRemoval(arm coleo.Arm) (end func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.starts[arm.ID] > 0 || b.removals[arm.ID] {
		return nil, coleo.Errorf(coleo.EBusy, "another command starts or removes arm %s now: nothing was removed; try again",
			arm.Name)
	}
	b.removals[arm.ID] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.removals, arm.ID)
	}, nil
}
