package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Traces finds the arms that still have processes. It returns a map from the id of each such arm to
// the generations of its processes. It looks once for marks in the environment of each process of
// the machine. It cannot read the environments of other users' processes, but those do not belong
// to Coleo.
//
// Sweep ends only processes with a mark and the processes below them. So for an arm that is not in
// the map, Sweep would find nothing to end.
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

// environRoom is the size of the first buffer for an environment, in bytes. Most
// environments fit into it.
const environRoom = 16 << 10

// environOf reads the environment of the process pid into the buffer `buf`, or into a larger one if
// it does not fit. `env` is nil if the process has ended or belongs to another user. `grown` is the
// buffer that environOf has used. Pass it to the next call.
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

// addTraces adds to `out` the arm and the generation of each mark in the environment env.
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
