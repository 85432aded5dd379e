//go:build !linux

package api

import "net"

// Here the whole path must fit into a socket's address (104 bytes on macOS).

func dialSocket(path string) (net.Conn, error) { return net.Dial("unix", path) }

func bindSocket(path string) (net.Listener, error) { return net.Listen("unix", path) }
