package coleo

// Display is an arm's condition in one word, for programs that can show only one word.
type Display string

// The values of Display.
const (
	DisplayIdle  Display = "Idle"
	DisplayBusy  Display = "Busy"
	DisplayStuck Display = "Stuck"
)

func displayOf(status Status, health Health) Display {
	switch health {
	case HealthHung, HealthRecoverable, HealthStopped, HealthUnknown, HealthBlocked:
		return DisplayStuck
	case HealthStarting, HealthActive, HealthQuiet:
	}
	switch status {
	case StatusError:
		return DisplayStuck
	case StatusBusy, StatusRunning, StatusStarting:
		return DisplayBusy
	// An arm with one of these statuses can still be at work, for example if only its queue is paused.
	// Therefore the code after this switch decides by the arm's health.
	case StatusIdle, StatusPaused, StatusPlanningBlocked, StatusStopped:
	}
	if health == HealthActive {
		return DisplayBusy
	}
	return DisplayIdle
}

// Need is what an arm needs from its user.
type Need string

// These are the needs, most urgent first.
const (
	NeedsYou    Need = "needs you"
	NeedWorking Need = "working" // the arm needs nothing now
	NeedParked  Need = "parked"  // the arm has met a limit, and continues by itself
	NeedIdle    Need = "idle"    // the arm can take a prompt
	NeedEnded   Need = "ended"
)

// Needs returns all needs, most urgent first.
func Needs() []Need { return []Need{NeedsYou, NeedWorking, NeedParked, NeedIdle, NeedEnded} }

// Need returns what the arm needs from its user, and why. The reason is "" if the need explains
// itself. Set the arm's Runtime before the call, because Need reads it.
func (a Arm) Need() (need Need, why string) {
	switch {
	case a.Status == StatusStopped && a.Budget != nil && a.Budget.Step == BudgetReached && a.Budget.Policy == BudgetStop:
		return NeedEnded, a.Budget.Why
	case a.Status == StatusStopped:
		return NeedEnded, ""
	case a.State == WaitingApproval && a.Dialog != nil:
		return NeedsYou, a.Dialog.Title
	case len(a.Suspensions) > 0:
		return NeedsYou, "asks: " + a.Suspensions[0].Line()
	case a.State == WaitingApproval:
		return NeedsYou, "it asks something that its screen shows"
	case a.Runtime.State == HealthBlocked:
		return NeedsYou, "blocked: " + a.Runtime.Reason
	case a.Queue != nil && a.Queue.Parked != nil && !a.isParked():
		return NeedsYou, a.Queue.Parked.Line()
	case a.isParked() && !a.Runtime.Stale && !a.Runtime.Frozen:
		return NeedParked, a.Queue.Parked.Line()
	case a.Runtime.Stale || a.Runtime.Frozen || a.Runtime.Display == DisplayStuck:
		return NeedsYou, a.Runtime.Reason
	case a.Status == StatusPlanningBlocked:
		return NeedsYou, "its plan waits for approval"
	case a.Queue != nil && a.Queue.Paused != "" && !a.Queue.ByHand:
		return NeedsYou, "its queue is paused: " + a.Queue.Paused
	case a.Queue != nil && a.Queue.Sending != "":
		return NeedWorking, ""
	case a.State == Idle && a.Queue != nil && a.Queue.Held != "":
		return NeedsYou, "its next prompt waits: " + a.Queue.Held
	case a.State == Idle:
		return NeedIdle, ""
	}
	return NeedWorking, ""
}

// isParked reports whether the arm has met a limit and will continue by itself.
func (a Arm) isParked() bool {
	return a.Queue != nil && a.Queue.Parked != nil && a.Queue.Parked.ByItself()
}
