package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// firstRoom is the size of the buffer with which readFile begins, in bytes.
const firstRoom = 2 << 10

// readFile reads a whole file of /proc. It needs half of the system calls of os.ReadFile, which asks for the
// file's size and tries to wait for the file with epoll. Coleo reads such files for each connection to a holder.
func readFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for err == unix.EINTR {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	raw := make([]byte, 0, firstRoom)
	for {
		n, err := unix.Read(fd, raw[len(raw):cap(raw)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", path, err)
		case n == 0:
			return raw, nil
		}
		if raw = raw[:len(raw)+n]; len(raw) == cap(raw) {
			raw = append(raw, 0)[:len(raw)]
		}
	}
}
