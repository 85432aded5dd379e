//go:build !linux

package boottime

import "golang.org/x/sys/unix"

const clock = unix.CLOCK_MONOTONIC // on macOS sleep counts on it
