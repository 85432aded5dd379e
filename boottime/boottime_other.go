//go:build !linux

package boottime

//platform:macos Sleep of the machine and deadlines = sleep counts (CLOCK_MONOTONIC)

import "golang.org/x/sys/unix"

const clock = unix.CLOCK_MONOTONIC // on macOS, this clock continues while the machine sleeps
