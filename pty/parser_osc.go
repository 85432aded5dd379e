package pty

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// osc executes an operating system command, which has a number, a semicolon and a text.
func (c *Core) osc(data []byte) {
	number, text, ok := oscNumber(data)
	if !ok {
		return
	}
	switch number {
	case 0, 2:
		c.setTitle(text)
	case 4:
		c.reportPalette(text)
	case 8:
		c.hyperlink(text)
	case 9:
		c.conEmu(text)
	case 10, 11, 12:
		c.reportColours(number, text)
	case 26:
		c.notice(NoticeSession, text)
	case 99:
		c.kittyNotification(text)
	case 133, 633:
		c.notice(NoticePrompt, text)
	case 777:
		if title, body, _ := strings.Cut(text, ";"); title == "notify" {
			c.notice(NoticeNotification, strings.TrimSuffix(strings.Replace(body, ";", ": ", 1), ": "))
		}
	case 7501:
		c.programStatus(text)
	}
}

// oscNumber splits data at the first semicolon into a number and a text. It returns false if there
// is no valid number.
func oscNumber(data []byte) (number int, text string, ok bool) {
	head, rest, _ := bytes.Cut(data, []byte{';'})
	for _, b := range head {
		if b < '0' || b > '9' || number > maxParam {
			return 0, "", false
		}
		number = number*10 + int(b-'0')
	}
	return number, string(rest), len(head) > 0
}

// programStatus handles the Program Status Protocol, revision 0.4. It answers a query with the
// query itself, and passes on any other text as a notice.
func (c *Core) programStatus(text string) {
	if text == "?" {
		c.reply("\x1b]7501;?\x1b\\")
		return
	}
	c.notice(NoticeStatus, text)
}

// conEmu handles OSC 9, which reports progress or shows a notification. It ignores the other
// numbered commands of ConEmu.
func (c *Core) conEmu(text string) {
	command, rest, _ := strings.Cut(text, ";")
	switch command {
	case "4":
		c.notice(NoticeProgress, rest)
	case "1", "2", "3", "5", "6", "7", "8", "9", "10", "11", "12":
	default:
		c.notice(NoticeNotification, text)
	}
}

// kittyNotification handles OSC 99. The text has key=value pairs, a semicolon, and a title or a
// body. kittyNotification ignores queries, icons, buttons and requests to close a notification.
func (c *Core) kittyNotification(text string) {
	meta, body, _ := strings.Cut(text, ";")
	for pair := range strings.SplitSeq(meta, ":") {
		switch key, value, _ := strings.Cut(pair, "="); {
		case key == "p" && value != "title" && value != "body":
			return
		case key == "e" && value == "1":
			if plain, err := base64.StdEncoding.DecodeString(body); err == nil {
				body = string(plain)
			}
		}
	}
	if body != "" {
		c.notice(NoticeNotification, body)
	}
}

// hyperlink handles OSC 8. It keeps only links to web addresses, because other targets could start
// programs on the viewer's machine.
func (c *Core) hyperlink(text string) {
	_, target, ok := strings.Cut(text, ";")
	if !ok {
		return
	}
	scheme, _, _ := strings.Cut(target, ":")
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" || len(target) > maxLinkTarget {
		target = ""
	}
	c.pen.link = c.linkID(clean(target, maxLinkTarget))
}
