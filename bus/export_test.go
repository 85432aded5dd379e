package bus

// These constants are for the tests in package bus_test.
const (
	AnswerTime   = answerTime
	GivesUpAfter = silentAfter
)
