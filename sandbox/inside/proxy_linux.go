package inside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strconv"

	"golang.org/x/sys/unix"

	"coleo.dev/sandbox/proxy"
)

// pairDescriptor is the descriptor of the proxy's socket to the sandbox. It is 3, because this socket is the
// first file in ExtraFiles of the proxy's command.
const pairDescriptor = 3

// Proxy runs the proxy through which a sandbox reaches the allowed hosts (see ProxyVerb). `args` contains the
// path of a file with a proxy.Config, and the id of the parent process. Proxy returns when the parent has
// ended.
func Proxy(args []string) error {
	// The signals to the arm's process group also reach the proxy. It ignores them, because it must run for as
	// long as the agent CLI.
	signal.Ignore(groupSignals...)
	unix.CloseOnExec(pairDescriptor)
	if len(args) != 2 {
		return errors.New("the proxy needs a file and a process")
	}
	pid, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	parent, err := unix.PidfdOpen(pid, 0)
	if err != nil || os.Getppid() != pid {
		return errors.Join(err, errors.New("the parent process has ended"))
	}
	c, err := proxy.ReadConfig(args[0])
	if err != nil {
		return err
	}
	log, err := proxy.OpenLog(c.Log)
	if err != nil {
		return fmt.Errorf("open the record of the network: %w", err)
	}
	ways := waysIn(c.Rules)
	listeners, err := takeListeners(ways)
	if err != nil {
		return err
	}
	server := &proxy.Server{Rules: c.Rules, Record: log.Add}
	for addr, l := range listeners {
		answer := server.ServeProxy
		if to, ok := ways.forward[addr]; ok {
			answer = func(ctx context.Context, conn net.Conn) { server.ServeForward(ctx, conn, to) }
		}
		go server.Serve(context.Background(), l, answer)
	}
	return awaitEnd(parent)
}

// awaitEnd waits until a process has ended.
func awaitEnd(pidfd int) error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// entrances contains the addresses at which a sandbox listens. The first address belongs to the
// proxy.
type entrances struct {
	listen  []string
	forward map[string]proxy.Rule // the server to which an address inside of the sandbox leads, by this address
}

// waysIn returns the addresses at which a sandbox listens for the given rules. The name localhost
// means both loopback addresses.
func waysIn(rules proxy.Rules) entrances {
	out := entrances{listen: []string{"127.0.0.1:0"}, forward: map[string]proxy.Rule{}}
	for _, rule := range rules.Forward {
		hosts := []string{"127.0.0.1", "::1"}
		if addr, err := netip.ParseAddr(rule.Host); err == nil {
			hosts = []string{addr.String()}
		}
		for _, host := range hosts {
			at := net.JoinHostPort(host, strconv.Itoa(int(rule.Port)))
			if _, taken := out.forward[at]; !taken {
				out.forward[at] = rule
				out.listen = append(out.listen, at)
			}
		}
	}
	return out
}

// takeListeners receives the listeners of the sandbox and returns them by their addresses.
func takeListeners(ways entrances) (map[string]net.Listener, error) {
	defer unix.Close(pairDescriptor)
	send := func(message any) error {
		text, err := json.Marshal(message)
		if err != nil {
			return err
		}
		return unix.Sendmsg(pairDescriptor, text, nil, nil, unix.MSG_NOSIGNAL)
	}
	if err := send(ways.listen); err != nil {
		return nil, err
	}
	var addrs []string
	fds, err := receive(pairDescriptor, &addrs)
	if err != nil {
		return nil, err
	}
	if len(fds) != len(addrs) {
		return nil, fmt.Errorf("the sandbox gave %d listeners for %d addresses", len(fds), len(addrs))
	}
	out := map[string]net.Listener{}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), addrs[i])
		if out[addrs[i]], err = net.FileListener(f); err != nil {
			return nil, err
		}
		_ = f.Close()
	}
	return out, send(ready)
}
