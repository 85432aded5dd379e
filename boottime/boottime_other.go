//go:build !linux

package boottime

import "golang.org/x/sys/unix"

const clock = unix.CLOCK_MONOTONIC // includes sleep on macOS
