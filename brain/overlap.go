package brain

import "coleo.dev"

// overlaps contains the arms that are being started again, and the arms that are being removed. A start and a removal
// of one arm must not overlap. Otherwise the removal would delete settings that the start needs, such as the arm's
// model server.
type overlaps struct {
	starts   map[string]int // the number of starts in progress; the key is the arm's id
	removals map[string]bool
}

// beginStart marks an arm as being started again, until the caller calls end. It returns EBusy
// while the arm is being removed. After beginStart, the caller must read the arm again, because it
// may have changed.
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

// beginRemoval marks an arm as being removed, until the caller calls end. It returns EBusy while
// the arm is being started again or removed. After beginRemoval, the caller must read the arm
// again, because it may have changed.
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
