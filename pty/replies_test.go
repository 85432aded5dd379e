package pty

import (
	"reflect"
	"strings"
	"testing"
)

func TestReplies(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"DA1", "\x1b[c\x1b[0c\x1b[1c", "\x1b[?1;2c\x1b[?1;2c"},
		{"DECID", "\x1bZ", "\x1b[?1;2c"},
		{"DA2", "\x1b[>c\x1b[>0c", "\x1b[>0;276;0c\x1b[>0;276;0c"},
		{"XTVERSION", "\x1b[>q\x1b[>0q", "\x1bP>|coleo(1)\x1b\\\x1bP>|coleo(1)\x1b\\"},
		{"DSR 5", "\x1b[5n", "\x1b[0n"},
		{"DSR 6", "\x1b[3;5H\x1b[6n\x1b[?6n", "\x1b[3;5R\x1b[?3;5R"},
		{"DSR 6 at a pending wrap is the last column", "12345678901234567890\x1b[6n", "\x1b[1;20R"},
		{"DSR 6 in origin mode counts from the region", "\x1b[2;4r\x1b[?6h\x1b[2;3H\x1b[6n", "\x1b[2;3R"},
		{"colour scheme", "\x1b[?996n", "\x1b[?997;1n"},
		{"DECRQM of modes that are set, reset, fixed, unknown",
			"\x1b[?2004h\x1b[?2004$p\x1b[?2026$p\x1b[?1016$p\x1b[?8$p\x1b[?1015$p\x1b[?31337$p",
			"\x1b[?2004;1$y\x1b[?2026;2$y\x1b[?1016;2$y\x1b[?8;3$y\x1b[?1015;4$y\x1b[?31337;0$y"},
		{"DECRQM of ANSI modes", "\x1b[4h\x1b[4$p\x1b[20$p\x1b[2$p\x1b[99$p",
			"\x1b[4;1$y\x1b[20;2$y\x1b[2;4$y\x1b[99;0$y"},
		{"OSC 10, 11, 12 end as asked", "\x1b]10;?\x1b\\\x1b]11;?\a\x1b]12;?\a",
			"\x1b]10;rgb:d4d4/d4d4/d4d4\x1b\\\x1b]11;rgb:1e1e/1e1e/1e1e\a\x1b]12;rgb:d4d4/d4d4/d4d4\a"},
		{"OSC 10 with more fields goes on with the next", "\x1b]10;red;?\a\x1b]11;#fff\a",
			"\x1b]11;rgb:1e1e/1e1e/1e1e\a"},
		{"OSC 4", "\x1b]4;1;?;16;red;231;?;255;?;256;?\a",
			"\x1b]4;1;rgb:cdcd/0000/0000\a\x1b]4;231;rgb:ffff/ffff/ffff\a\x1b]4;255;rgb:eeee/eeee/eeee\a"},
		{"XTWINOPS", "\x1b[14t\x1b[16t\x1b[18t\x1b[21t\x1b[8;1;1t", "\x1b[4;80;200t\x1b[6;20;10t\x1b[8;4;20t"},
		{"kitty keyboard",
			"\x1b[?u\x1b[>1u\x1b[?u\x1b[>5u\x1b[?u\x1b[<u\x1b[?u\x1b[=2;2u\x1b[?u\x1b[=1;3u\x1b[?u\x1b[<9u\x1b[?u",
			"\x1b[?0u\x1b[?1u\x1b[?5u\x1b[?1u\x1b[?3u\x1b[?2u\x1b[?0u"},
		{"kitty keyboard, each screen apart",
			"\x1b[>1u\x1b[?1049h\x1b[?u\x1b[>7u\x1b[?1049l\x1b[?u", "\x1b[?0u\x1b[?1u"},
		{"OSC 7501 query, however it ends", "\x1b]7501;?\x1b\\\x1b]7501;?\a", "\x1b]7501;?\x1b\\\x1b]7501;?\x1b\\"},
		{"OSC 7501 status is no query", "\x1b]7501;state=idle\a", ""},
		{"DECRQSS", "\x1b[2;3r\x1bP$qr\x1b\\\x1bP$q\"q\x1b\\\x1bP$qm\x1b\\",
			"\x1bP1$r2;3r\x1b\\\x1bP1$r0\"q\x1b\\\x1bP0$r\x1b\\"},
		{"XTGETTCAP knows nothing", "\x1bP+q4d73\x1b\\", "\x1bP0+r4d73\x1b\\"},
		{"XTGETTCAP repeats only hexadecimal", "\x1bP+q\rrm\x1b\\", ""},
		{"kitty graphics queries are ignored", "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", ""},
		{"in order", "\x1b[>0q\x1b[?u\x1b]7501;?\a\x1b[c", "\x1bP>|coleo(1)\x1b\\\x1b[?0u\x1b]7501;?\x1b\\\x1b[?1;2c"},
		{"an aborted query is not answered", "\x1b]11;?\x18\x1b[5\x1an", ""},
	}
	for _, tt := range tests {
		c := draw(20, 4, tt.in)
		if got := string(c.Replies()); got != tt.want {
			t.Errorf("%s: %q is answered %q, want %q", tt.name, tt.in, got, tt.want)
		}
		if again := c.Replies(); again != nil {
			t.Errorf("%s: answered twice: %q", tt.name, again)
		}
	}
}

func TestRepliesAreBounded(t *testing.T) {
	t.Parallel()
	c := draw(20, 4, strings.Repeat("\x1b[c", 100_000))
	got := string(c.Replies())
	if n := len(got); n > maxReplies || n < maxReplies/2 || n%len(deviceAttributes) != 0 {
		t.Errorf("%d bytes wait, want at most %d, and whole answers", n, maxReplies)
	}
	_, _ = c.Write([]byte("\x1b[5n"))
	if got := string(c.Replies()); got != "\x1b[0n" {
		t.Errorf("after fetching, %q", got)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []Notice
	}{
		{"program status", "\x1b]7501;state=working:app=x\x1b\\", []Notice{{NoticeStatus, "state=working:app=x"}}},
		{"terminal agent protocol", "\x1b]26;Status=running;Detail=eA==\a",
			[]Notice{{NoticeSession, "Status=running;Detail=eA=="}}},
		{"progress", "\x1b]9;4;1;50\a\x1b]9;4;0\a", []Notice{{NoticeProgress, "1;50"}, {NoticeProgress, "0"}}},
		{"OSC 9", "\x1b]9;hello; you\a\x1b]9;9;/dir\a", []Notice{{NoticeNotification, "hello; you"}}},
		{"OSC 777", "\x1b]777;notify;title;body; more\a\x1b]777;notify;title\a\x1b]777;other;x\a",
			[]Notice{{NoticeNotification, "title: body; more"}, {NoticeNotification, "title"}}},
		{"OSC 99", "\x1b]99;;hi\a\x1b]99;i=1:p=body:e=1;aGk=\a\x1b]99;i=x:p=?;\x1b\\\x1b]99;p=close;x\a",
			[]Notice{{NoticeNotification, "hi"}}},
		{"prompt marks", "\x1b]133;A\a\x1b]633;B\a", []Notice{{NoticePrompt, "A"}, {NoticePrompt, "B"}}},
		{"titles, each change once", "\x1b]0;a\a\x1b]2;a\a\x1b]1;icon\a\x1b]2;✳ b\x1b\\",
			[]Notice{{NoticeTitle, "a"}, {NoticeTitle, "✳ b"}}},
		{"bells in a row are one", "\a\a\x1b]9;x\a\a",
			[]Notice{{NoticeBell, ""}, {NoticeNotification, "x"}, {NoticeBell, ""}}},
		{"no control characters", "\x1b]9;a\u0085\x7fb\xff\a", []Notice{{NoticeNotification, "ab"}}},
		{"unknown and malformed ones", "\x1b]1337;x\a\x1b];x\a\x1b]9x;y\a\x1b]\a\x1b]52;c;AA\a", nil},
	}
	for _, tt := range tests {
		c := draw(20, 4, tt.in)
		if got := c.Notices(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q gives %q, want %q", tt.name, tt.in, got, tt.want)
		}
		if again := c.Notices(); again != nil {
			t.Errorf("%s: given twice: %q", tt.name, again)
		}
	}
}

func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	c := New(20, 4)
	for i := range 3_000 {
		_, _ = c.Write([]byte("\x1b]9;" + strings.Repeat("x", i%5000) + "\a\a"))
	}
	_, _ = c.Write([]byte("\x1b]7501;state=blocked\a"))
	all := c.Notices()
	if len(all) > maxNotices || all[len(all)-1] != (Notice{NoticeStatus, "state=blocked"}) {
		t.Errorf("%d notices, the last %q", len(all), all[len(all)-1])
	}
	for _, n := range all {
		if len(n.Text) > maxNoticeText {
			t.Errorf("a notice of %d bytes", len(n.Text))
		}
	}
}

func TestStringsAreBounded(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"\x1b]0;", "\x1bP$q", "\x1b_G", "\x1b^", "\x1b]52;c;"} {
		c := draw(20, 4, start+strings.Repeat("x", 1<<20))
		if len(c.str) > maxString {
			t.Errorf("%q keeps %d bytes", start, len(c.str))
		}
		_, _ = c.Write([]byte("\x1b\\ok"))
		if got := text(c); got != "ok" || c.View().Title != "" {
			t.Errorf("after %q: %q, title of %d bytes", start, got, len(c.View().Title))
		}
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	c := draw(20, 4, "\x1b]0;one\a\x1b[22;0t\x1b]0;t\x01wo\a")
	if got := c.View().Title; got != "two" {
		t.Errorf("title %q, want two", got)
	}
	_, _ = c.Write([]byte("\x1b[23;0t\x1b[23;0t"))
	if got := c.View().Title; got != "one" {
		t.Errorf("title after popping %q, want one", got)
	}
	_, _ = c.Write([]byte("\x1b]2;" + strings.Repeat("é", 2000) + "\a" + strings.Repeat("\x1b[22t", 100)))
	if got := c.View().Title; len(got) != maxTitle || len(c.titles) > maxTitles {
		t.Errorf("a title of %d bytes, %d pushed", len(got), len(c.titles))
	}
}
