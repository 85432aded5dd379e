package show

// These escape sequences are for a verb that draws on the whole terminal.
const (
	EnterScreen = "\x1b[?1049h\x1b[?25l" // shows the alternate screen and hides the cursor
	LeaveScreen = "\x1b[?25h\x1b[?1049l" // undoes EnterScreen
	MarkPastes  = "\x1b[?2004h"          // makes the terminal mark pasted text, by sequences before and after it
	LeavePastes = "\x1b[?2004l"          // undoes MarkPastes
	ScreenTop   = "\x1b[H"
	ClearLine   = "\x1b[K" // clears from the cursor to the end of the line
	ClearBelow  = "\x1b[J" // clears from the cursor to the end of the screen
)
