//go:build !linux

package pty

import "time"

// threadTime returns the time of day, because this system has no processor time of a thread. So
// other work of the machine counts too.
func threadTime() time.Duration {
	return time.Duration(time.Now().UnixNano())
}
