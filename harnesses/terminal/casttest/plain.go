package casttest

// PlainSpec describes a fake program with a composer, one dialog and a hook. Tests write the
// pictures of this program themselves.
const PlainSpec = `
name = "bench"
command = "bench"
[keys]
submit = "ENTER"
[timing]
settle_ms = 100
[composer]
bottom = '^─{5,}'
first = '^> ?'
[hook]
event = "event"
turn = "turn"
strip = '</?paste>'
[[hook.report]]
event = "Prompt"
state = "processing"
prompt = "prompt"
[[hook.report]]
event = "Tool"
state = "executing"
tool = "tool"
input = "input"
[[hook.report]]
event = "Ask"
when = { kind = "permission" }
state = "waiting_approval"
[[hook.report]]
event = "Stop"
answer = "answer"
[[hook.report]]
event = "Both"
prompts = "said"
answer = "answer"
[[dialog]]
name = "permission"
kind = "permission"
when = [{ where = "bottom 1", pattern = '^y/n' }]
top = '^====='
title = '^(Run it\?)$'
subject = "above"
gutter = '^ *\d+ ([-+] )?'
changed = '^ *\d+ ([-+])'
options = ["Yes", "No"]
select = "digit"
approve = '^Yes$'
deny = '^No$'
[[rule]]
name = "busy"
state = "processing"
when = [{ where = "screen", pattern = '(?m)^busy' }]
[[rule]]
name = "composer"
state = "idle"
when = [{ where = "composer", pattern = '(?s).*' }]
`

// These are pictures of the program that PlainSpec describes.
const (
	Idle  = "\x1b[2J\x1b[H> \r\n───────\x1b[H"
	Busy  = "\x1b[2J\x1b[H> \r\n───────\r\nbusy\x1b[H"
	Asks  = "\x1b[2J\x1b[H=====\r\ntouch it\r\nRun it?\r\n1. Yes\r\n2. No\r\ny/n"
	Blank = "\x1b[2J\x1b[H" // no rule recognizes this picture
)

// WorkClaim is an escape sequence with which the program of PlainSpec reports that it works.
const WorkClaim = "\x1b]7501;state=working:app=x\x07"
