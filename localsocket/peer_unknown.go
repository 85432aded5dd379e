//go:build !linux && !darwin

package localsocket

import "coleo.dev"

func peerOf(int) (Peer, process, error) {
	return Peer{}, process{}, coleo.Errorf(coleo.EUnsupported, "this system does not say who is connected to a socket")
}
