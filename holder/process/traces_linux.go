package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Traces returns the generations of each arm whose mark is in some process's environment,
// by the arm's id. It looks at each process of the machine once. The environments of
// other users' processes cannot be read; those processes do not belong to Coleo. An arm
// without a trace has no process to sweep: a process below one with the mark is found
// through that one.
func Traces() map[string][]int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	out := map[string][]int{}
	buf := make([]byte, environRoom)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		var env []byte
		if env, buf = environOf(name, buf); len(env) > 0 {
			addTraces(out, env)
		}
	}
	return out
}

// environRoom is how much of an environment is read at once, in bytes. Most are smaller.
const environRoom = 16 << 10

// environOf reads the environment of a process into a buffer, which may grow. It returns
// nil for a process that is gone or belongs to another user.
func environOf(pid string, buf []byte) (env, grown []byte) {
	fd, err := unix.Open("/proc/"+pid+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, buf
	}
	defer unix.Close(fd)
	for n := 0; ; {
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		more, err := unix.Read(fd, buf[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, buf
		}
		if more <= 0 {
			return buf[:n], buf
		}
		n += more
	}
}

// addTraces adds the marks in an environment.
func addTraces(out map[string][]int, env []byte) {
	name := []byte(EnvArm + "=")
	for bytes.Contains(env, name) {
		var entry []byte
		if entry, env, _ = bytes.Cut(env, []byte{0}); !bytes.HasPrefix(entry, name) {
			continue
		}
		arm, rest, _ := strings.Cut(string(entry[len(name):]), "/")
		number, _, _ := strings.Cut(rest, "/")
		if generation, err := strconv.Atoi(number); err == nil {
			out[arm] = append(out[arm], generation)
		}
	}
}
