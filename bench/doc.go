// Package bench measures what Coleo promises about speed: `make bench`. Its figures are
// ratios or differences within one run, because machines differ and are shared. It
// contains only benchmarks.
package bench
