// Package proxy contains the proxy of a sandbox without a network. The sandbox reaches hosts only through this
// proxy, and only those that the arm may reach. It answers CONNECT requests, and plain HTTP requests in
// absolute form. It also forwards ports of the sandbox's loopback interface to servers on this machine.
//
// For each request, the proxy first checks the host and the port. Then it looks up the host's name once, checks
// the addresses, and connects only to one of these addresses. It records each decision as an Entry in a Log.
// The proxy does not decrypt the data that it forwards.
//
// The package parses HTTP without net/http, because it is a part of coleo-hold. There, net/http alone would add
// 0.8 MB to the 4 MB of memory that each holder needs, and 1 MB to the program's 4 MB.
package proxy
