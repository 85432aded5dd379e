package launch

import (
	"io"
	"io/fs"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/wholefile"
)

// maxSettingsFile is the size in bytes of the largest settings file of a user that Coleo reads.
// Real settings files have only a few KiB.
const maxSettingsFile = 1 << 20

// refuseSettings returns EUnsupported if the user has chosen a setting that keeps Coleo from
// reading the screen or from typing. The message describes what the user can do.
func refuseSettings(s *rules.Spec, c *coleo.SpawnConfig, argv []string, env map[string]string) error {
	for _, setting := range s.Settings {
		if setting.Refused == "" {
			continue
		}
		for _, sign := range setting.Seen {
			if where, found := findSign(sign, c, argv, env); found {
				return coleo.Errorf(coleo.EUnsupported, "%s was not started. %s Coleo found the setting in %s.",
					s.Title, setting.Refused, where)
			}
		}
	}
	return nil
}

// findSign reports whether the start shows a sign that the user has chosen a setting. It also returns
// the place of the sign, in words.
func findSign(sign rules.Sign, c *coleo.SpawnConfig, argv []string, env map[string]string) (string, bool) {
	switch {
	case sign.Arg != "":
		return "its arguments", sign.InArgs(argv)
	case sign.Env != "":
		return "the environment variable " + sign.Env, sign.In(env[sign.Env])
	}
	for _, path := range sign.Files(c.Workdir, env) {
		if sign.In(readSettings(path)) {
			return path, true
		}
	}
	return "", false
}

// readSettings returns the text of a user's settings file, or "" if it cannot read the file. It
// reports no error, because the agent CLI itself reports what is wrong with the file.
func readSettings(path string) string {
	text, _, err := readRegular(path, maxSettingsFile)
	if err != nil {
		return ""
	}
	return string(text)
}

// readRegular returns the content and the mode of a file that an agent CLI may be able to write. It returns
// ErrNotRegular for a pipe, and EUnsupported if the file has more than `most` bytes.
func readRegular(path string, most int64) ([]byte, fs.FileMode, error) {
	file, err := wholefile.OpenRegular(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = coleo.Errorf(coleo.EUnsupported, "%s is larger than %d MB", path, most>>20)
	}
	return text, info.Mode().Perm(), err
}
