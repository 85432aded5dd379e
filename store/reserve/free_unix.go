//go:build linux || darwin

package reserve

//platform:linux Report of a full disk = free room is measured
//platform:macos Report of a full disk = free room is measured

import "syscall"

func freeBytes(path string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
