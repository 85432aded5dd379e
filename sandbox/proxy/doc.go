// Package proxy is the only way from a sandbox without a network to the hosts that the arm may
// reach. It answers CONNECT requests and plain HTTP requests in absolute form. It also forwards
// ports of the sandbox's loopback interface to servers of this machine.
//
// For each request, the proxy checks the host and the port first. It then looks up the host's name
// once, checks the addresses, and connects to one of exactly these addresses. Each decision is an
// Entry in a Log. The proxy does not decrypt what goes through it.
package proxy
