// Package proxy is the only way from a sandbox without a network to the hosts that the arm may
// reach. It answers CONNECT requests and plain HTTP requests in absolute form. It also forwards
// ports of the sandbox's loopback interface to servers of this machine.
//
// For each request, the proxy checks the host and the port first. It then looks up the host's name
// once, checks the addresses, and connects to one of exactly these addresses. Each decision is an
// Entry in a Log. The proxy does not decrypt what goes through it.
//
// The package reads HTTP without net/http, because it is a part of coleo-hold. There, net/http alone
// adds 0.8 MB to the 4 MB of memory that each holder needs, and 1 MB to the program's 4 MB.
package proxy
