package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Before the agent CLI starts, the sandbox and its proxy exchange messages over a pair of sockets.
// First, the proxy sends the addresses at which to listen. Then the program in the sandbox listens
// there, and sends the listeners with their addresses. At the end, the proxy sends the word
// "ready". So the listeners belong to the sandbox's network, but the proxy connects in the network
// of the machine.

// ProxySocket is the descriptor of the sandbox's end of the pair of sockets to the proxy. The number is fixed,
// because the command line of the sandbox is made before the sockets. The number 100 is free, because this
// process has far fewer descriptors.
const ProxySocket = 100

// ready is the proxy's last message.
const ready = "ready"

const (
	// maxMessage is the size of the largest message between the sandbox and its proxy, in bytes.
	maxMessage = 64 << 10
	// maxListeners is how many descriptors one message may contain. The kernel allows 253.
	maxListeners = 200
	// talkTimeout is how long to wait for each message, which usually takes some milliseconds.
	talkTimeout = 30 * time.Second
)

// StartProxy starts the proxy of a sandbox, with the configuration in a file. It returns a socket to the proxy,
// which must become the descriptor ProxySocket of EnterVerb. The proxy ends when this process ends.
func StartProxy(file string) (int, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("make the sockets of the sandbox's proxy: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "proxy")
	defer theirs.Close()
	cmd := exec.Command(self, ProxyVerb, file, strconv.Itoa(os.Getpid()))
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the sandbox's proxy: %w", err)
	}
	return pair[0], nil
}

// startProxy is like StartProxy, but moves the returned socket to the descriptor ProxySocket. The socket stays
// open when this process becomes another program.
func startProxy(file string) error {
	socket, err := StartProxy(file)
	if err != nil {
		return err
	}
	at, err := unix.FcntlInt(uintptr(socket), unix.F_DUPFD, ProxySocket)
	if err == nil && at != ProxySocket {
		err = fmt.Errorf("descriptor %d is in use", ProxySocket)
	}
	if err != nil {
		return fmt.Errorf("keep the socket of the sandbox's proxy: %w", err)
	}
	return unix.Close(socket)
}

// giveListeners listens inside the sandbox and sends the listeners to the proxy. Then it sets the proxy's URL
// in the environment of this process, which becomes the agent CLI.
func giveListeners() error {
	unix.CloseOnExec(ProxySocket)
	defer unix.Close(ProxySocket)
	wait := unix.NsecToTimeval(talkTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(ProxySocket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return err
	}
	var wanted []string
	if _, err := receive(ProxySocket, &wanted); err != nil {
		return err
	}
	addrs, files, err := listen(wanted)
	if err != nil {
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	text, err := json.Marshal(addrs)
	if err == nil {
		err = unix.Sendmsg(ProxySocket, text, unix.UnixRights(fds...), nil, 0)
	}
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		return fmt.Errorf("give the listeners to the proxy: %w", err)
	}
	var answer string
	if _, err := receive(ProxySocket, &answer); err != nil || answer != ready {
		return fmt.Errorf("the proxy has not begun: %q, %w", answer, err)
	}
	return setProxy("http://" + addrs[0])
}

// listen listens at addresses of the loopback interface. The first one must be the address of the
// proxy. IPv6 addresses may fail, because the machine may not have IPv6.
func listen(wanted []string) (addrs []string, files []*os.File, err error) {
	for i, addr := range wanted {
		l, err := net.Listen("tcp", addr)
		if host, _, _ := net.SplitHostPort(addr); err != nil && i > 0 && host == "::1" {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		f, err := l.(*net.TCPListener).File()
		_ = l.Close()
		if err != nil {
			return nil, nil, err
		}
		addrs, files = append(addrs, l.Addr().String()), append(files, f)
	}
	if len(files) == 0 {
		return nil, nil, errors.New("the proxy wants no listener")
	}
	return addrs, files, nil
}

// setProxy sets the proxy's URL in the environment of this process. Programs in the sandbox do not use
// the proxy to reach each other on loopback.
func setProxy(url string) error {
	const direct = "localhost,127.0.0.1,::1"
	var all []error
	for name, value := range map[string]string{"HTTP_PROXY": url, "http_proxy": url, "HTTPS_PROXY": url,
		"https_proxy": url, "NO_PROXY": direct, "no_proxy": direct} {
		all = append(all, os.Setenv(name, value))
	}
	return errors.Join(append(all, os.Unsetenv("ALL_PROXY"), os.Unsetenv("all_proxy"))...)
}

// receive receives a message and the descriptors in it.
func receive(socket int, message any) (fds []int, err error) {
	text, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxListeners))
	var n, m int
	for {
		n, m, _, _, err = unix.Recvmsg(socket, text, rights, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("wait for the other end: %w", err)
	case n == 0:
		return nil, errors.New("the other end has ended")
	}
	list, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		got, err := unix.ParseUnixRights(&one)
		if err != nil {
			return nil, err
		}
		fds = slices.Concat(fds, got)
	}
	return fds, json.Unmarshal(text[:n], message)
}
