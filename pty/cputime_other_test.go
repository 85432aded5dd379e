//go:build !linux

package pty

import "time"

// threadTime is the time of day: what else the machine does counts too.
func threadTime() time.Duration {
	return time.Duration(time.Now().UnixNano())
}
