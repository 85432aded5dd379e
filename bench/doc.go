// Package bench measures what Coleo promises about speed. Run it with `make bench`.
// Each result is a ratio or a difference within one run, because machines differ and
// are shared. It contains only benchmarks.
package bench
