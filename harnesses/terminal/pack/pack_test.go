package pack

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

const ruleText = "[[rule]]\nname = \"r\"\nstate = \"idle\"\nwhen = [{ where = \"screen\", pattern = \"x\" }]\n"

// today is the day of these tests.
func today() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

// signer creates and signs packs.
type signer struct {
	t    *testing.T
	file string
	key  ed25519.PublicKey
}

func newSigner(t *testing.T) signer {
	t.Helper()
	s := signer{t: t, file: filepath.Join(t.TempDir(), "key")}
	var err error
	if s.key, err = NewKey(s.file); err != nil {
		t.Fatal(err)
	}
	return s
}

// pack returns a valid pack for a harness with the name "mine".
func (s signer) pack(serial int64, text string) []byte {
	s.t.Helper()
	data, err := Make(s.file, Order{Harness: "mine", Versions: []string{"2.0"}, Serial: serial, Expires: "2026-12-31",
		File: "rules.toml", Rules: []byte(text)}, today())
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

// seal returns a signed pack with any text.
func (s signer) seal(body string) []byte {
	s.t.Helper()
	key, err := readPrivateKey(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	return seal(key, []byte(body))
}

// newTrusting returns a Store that trusts the signer.
func newTrusting(t *testing.T, s signer) Store {
	t.Helper()
	store := NewStore(filepath.Join(t.TempDir(), "packs"))
	if err := store.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := store.Trust(s.key); err != nil {
		t.Fatal(err)
	}
	return store
}

func accept(*Pack) error { return nil }

// wantInstalled checks the serial of the only pack in use. The serial 0 means that no pack may be
// in use.
func wantInstalled(t *testing.T, s Store, now time.Time, serial int64) {
	t.Helper()
	list, err := s.Installed(now)
	if err != nil {
		t.Fatal(err)
	}
	var got int64
	for _, i := range list {
		if i.Wrong == nil {
			got = i.Pack.Serial
		}
	}
	if got != serial {
		t.Errorf("the pack in use has the serial %d, want %d; %+v", got, serial, list)
	}
}

func TestAPackIsMadeAndInstalledAndRemoved(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	store := newTrusting(t, s)
	data := s.pack(3, ruleText)
	if p, problems := Check("p", data); len(problems) > 0 || p.Harness != "mine" || p.Serial != 3 ||
		!p.Key.Equal(s.key) || p.Expires != "2026-12-31" || !p.Rules.Judged("2.0") {
		t.Fatalf("it is %+v, %v", p, problems)
	}
	if _, err := store.Add("p", data, today(), accept); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, store, today(), 3)
	for name, want := range map[string]os.FileMode{"mine.pack": 0o600, "mine.serial": 0o600, ".": 0o700} {
		if info, err := os.Stat(filepath.Join(store.Dir(), name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want mode %v", name, info.Mode(), err, want)
		}
	}
	if err := store.Remove("mine"); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, store, today(), 0)
	if err := store.Remove("mine"); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a second remove returns %v", err)
	}
}

func TestWhatIsNotAValidPackChangesNothing(t *testing.T) {
	t.Parallel()
	s, other := newSigner(t), newSigner(t)
	good := s.pack(5, ruleText)
	head := "harness = \"mine\"\nversions = [\"2.0\"]\nserial = 6\nexpires = \"2026-12-31\"\n"
	changed := func(old, replacement string) []byte {
		return bytes.Replace(s.pack(6, ruleText), []byte(old), []byte(replacement), 1)
	}
	unsigned := func() []byte {
		lines := bytes.SplitAfterN(good, []byte("\n"), 4)
		return bytes.Join([][]byte{lines[0], lines[1], lines[3]}, nil)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":               {nil, "this is not a pack"},
		"not a pack":          {[]byte(ruleText), "this is not a pack"},
		"unsigned":            {unsigned(), "p:3: the pack is not signed"},
		"another key":         {other.pack(6, ruleText), "is not trusted here"},
		"a changed rule":      {changed("pattern = \"x\"", "pattern = \"y\""), "the signature is wrong"},
		"a changed serial":    {changed("serial = 6", "serial = 9"), "the signature is wrong"},
		"a changed key":       {changed(KeyText(s.key), KeyText(other.key)), "the signature is wrong"},
		"one byte more":       {append(s.pack(6, ruleText), '\n'), "the signature is wrong"},
		"one byte less":       {good[:len(good)-1], "the signature is wrong"},
		"half":                {good[:len(good)/2], ""},
		"the first line only": {[]byte(firstLine), "the pack is not signed"},
		"the head only":       {good[:bytes.Index(good, []byte("\n\n"))], ""},
		"line ends of DOS":    {bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")), "this is not a pack"},
		"too large": {s.seal(head + ruleText + strings.Repeat("# more\n", MaxSize/7)),
			"has more than 262144 bytes"},
		"expired": {s.seal(strings.Replace(head, "2026-12-31", "2026-11-21", 1) + ruleText),
			"its last day was 2026-11-21"},
		"no day":              {s.seal(strings.Replace(head, "2026-12-31", "never", 1) + ruleText), `p:8: expires = "never"`},
		"replayed":            {s.pack(4, ruleText), "an older pack is never installed"},
		"the same serial":     {s.pack(5, ruleText+"# changed\n"), "a changed pack needs a higher serial"},
		"a negative serial":   {s.seal(strings.Replace(head, "serial = 6", "serial = -6", 1) + ruleText), "p:7: serial = -6"},
		"a serial as text":    {s.seal(strings.Replace(head, "serial = 6", "serial = \"6\"", 1) + ruleText), "p:7:"},
		"no version":          {s.seal(strings.Replace(head, "\"2.0\"", "", 1) + ruleText), "p:6: versions has 0 entries"},
		"a version as a path": {s.seal(strings.Replace(head, "2.0", "../x", 1) + ruleText), "is not a version"},
		"a harness as a path": {s.seal(strings.Replace(head, "mine", "../mine", 1) + ruleText),
			"is not the name of a harness"},
		"a list as harness": {s.seal(strings.Replace(head, "\"mine\"", "[\"mine\"]", 1) + ruleText), "p:5:"},
		"a forbidden key":   {s.seal(head + ruleText + "[keys]\nsubmit = \"ENTER\"\n"), `p:13:2: unknown key "keys"`},
		"a forbidden key's key": {s.seal(head + "[composer]\nbottom = \"x\"\nrefuse = \"x\"\n" + ruleText),
			`p:11:1: unknown key "composer.refuse"`},
		"a command":        {s.seal("command = \"sh\"\n" + head + ruleText), `p:5:1: unknown key "command"`},
		"no TOML":          {s.seal(head + "<<<"), "p:9:"},
		"a NUL byte":       {s.seal(head + ruleText + "# \x00\n"), "NUL"},
		"not UTF-8":        {s.seal(head + ruleText + "# \xff\n"), "UTF-8"},
		"a slow pattern":   {s.seal(head + strings.Replace(ruleText, `"x"`, `'((x{30}){30}){30}'`, 1)), "p:12:"},
		"a look-ahead":     {s.seal(head + strings.Replace(ruleText, `"x"`, `'(?!x)'`, 1)), "p:12:"},
		"a number as rule": {s.seal(head + "rule = 3\n"), "p:9:"},
		"deep lists":       {s.seal(head + "versions2 = " + strings.Repeat("[", 200_000)), "p:"},
		"deep tables":      {s.seal(head + "[" + strings.Repeat("a.", 100_000) + "a]\n"), "p:"},
		"deep inline":      {s.seal(head + "x = " + strings.Repeat("{a=", 60_000)), "p:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newTrusting(t, s)
			if _, err := store.Add("p", good, today(), accept); err != nil {
				t.Fatal(err)
			}
			before := filesOf(t, store)
			p, err := store.Add("p", c.data, today(), accept)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it was installed as %+v, error %v; want %q", p, err, c.want)
			}
			if filesOf(t, store) != before {
				t.Error("the folder has changed")
			}
			wantInstalled(t, store, today(), 5)
		})
	}
}

// filesOf returns all files of a Store as one text.
func filesOf(t *testing.T, s Store) string {
	t.Helper()
	entries, err := os.ReadDir(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(s.Dir(), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(e.Name() + "\n" + string(data))
	}
	return b.String()
}

func TestTheHighestSerialIsRemembered(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	store := newTrusting(t, s)
	old, newer := s.pack(1, ruleText), s.pack(2, ruleText)
	for _, data := range [][]byte{old, newer} {
		if _, err := store.Add("p", data, today(), accept); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Remove("mine"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add("p", old, today(), accept); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("after a remove, the older pack gives %v", err)
	}
	if err := os.WriteFile(filepath.Join(store.Dir(), "mine.pack"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, store, today(), 0) // somebody restored the older pack by hand
	if _, err := store.Add("p", newer, today(), accept); err != nil {
		t.Errorf("the same pack again gives %v", err)
	}
	wantInstalled(t, store, today(), 2)
	if err := os.WriteFile(filepath.Join(store.Dir(), "mine.serial"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, store, today(), 0)
	if _, err := store.Add("p", s.pack(9, ruleText), today(), accept); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("without a readable serial, a pack gives %v", err)
	}
	if err := os.Remove(filepath.Join(store.Dir(), "mine.serial")); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, store, today(), 0)
}

func TestAPackIsNotUsedForAnotherHarness(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	store := newTrusting(t, s)
	if _, err := store.Add("p", s.pack(1, ruleText), today(), accept); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{packEnd, serialEnd} {
		if err := os.Rename(filepath.Join(store.Dir(), "mine"+end), filepath.Join(store.Dir(), "other"+end)); err != nil {
			t.Fatal(err)
		}
	}
	wantInstalled(t, store, today(), 0)
}

func TestAPackThatIsNotAcceptedChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	store := newTrusting(t, s)
	if _, err := store.Add("p", s.pack(1, ruleText), today(), accept); err != nil {
		t.Fatal(err)
	}
	no := coleo.Errorf(coleo.EInvalid, "no")
	if _, err := store.Add("p", s.pack(2, ruleText), today(), func(*Pack) error { return no }); err != no {
		t.Errorf("the error is %v", err)
	}
	wantInstalled(t, store, today(), 1)
	if _, err := store.Add("p", s.pack(1, ruleText), today(), accept); err != nil {
		t.Errorf("the serial has gone up: %v", err)
	}
}

func TestAPackExpiresAtTheEndOfItsLastDay(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	store := newTrusting(t, s)
	if _, err := store.Add("p", s.pack(1, ruleText), today(), accept); err != nil {
		t.Fatal(err)
	}
	end := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	wantInstalled(t, store, end.Add(-time.Second), 1)
	wantInstalled(t, store, end, 0)
	list, _ := store.Installed(end)
	if len(list) != 1 || list[0].Pack == nil || !strings.Contains(list[0].Wrong.Error(), "has expired") {
		t.Errorf("it is listed as %+v", list)
	}
	if store.Stamp(end.Add(-time.Second)) == store.Stamp(end) {
		t.Error("the stamp does not change when a pack expires")
	}
}

func TestAKeyThatIsNotTrustedAnyLongerEndsTheUse(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	store := newTrusting(t, s)
	if _, err := store.Add("p", s.pack(1, ruleText), today(), accept); err != nil {
		t.Fatal(err)
	}
	if err := store.Distrust(s.key); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, store, today(), 0)
}

func TestInstalledFilesThatOthersCouldChangeAreNotUsed(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	for name, spoil := range map[string]func(dir, file string) error{
		"others can write the file":   func(_, file string) error { return os.Chmod(file, 0o622) },
		"others can write the folder": func(dir, _ string) error { return os.Chmod(dir, 0o722) },
		"a link": func(dir, file string) error {
			if err := os.Rename(file, dir+"/elsewhere"); err != nil {
				return err
			}
			return os.Symlink(dir+"/elsewhere", file)
		},
		"a folder": func(_, file string) error {
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.Mkdir(file, 0o700)
		},
		"too large": func(_, file string) error { return os.Truncate(file, MaxSize+1) },
	} {
		for _, file := range []string{"mine.pack", "mine.serial", keysFile} {
			t.Run(name+", "+file, func(t *testing.T) {
				t.Parallel()
				store := newTrusting(t, s)
				if _, err := store.Add("p", s.pack(1, ruleText), today(), accept); err != nil {
					t.Fatal(err)
				}
				before := store.Stamp(today())
				if err := spoil(store.Dir(), filepath.Join(store.Dir(), file)); err != nil {
					t.Fatal(err)
				}
				wantInstalled(t, store, today(), 0)
				if store.Stamp(today()) == before {
					t.Error("the stamp is the same")
				}
			})
		}
	}
}
