package coleo

// RecoveryMode is how an arm came back.
type RecoveryMode string

// The recovery modes.
const (
	RecoveryReattached RecoveryMode = "reattached" // the arm's session had never ended
	RecoveryRecovered  RecoveryMode = "recovered"  // Coleo found a server that still ran, by its pid and port
	RecoveryRestarted  RecoveryMode = "restarted"  // a new process; Resumed reports whether the conversation continues
)
