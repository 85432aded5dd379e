package localsocket

//platform:macos Check of the other end of a socket = user and pid (LOCAL_PEERCRED, LOCAL_PEERPID)

import "golang.org/x/sys/unix"

func peerOf(fd int) (Peer, process, error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, process{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return Peer{}, process{}, err
	}
	return Peer{UID: int(c.Uid), PID: pid}, process{pid}, nil
}
