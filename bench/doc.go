// Package bench has benchmarks that measure what Coleo promises about speed. Run them
// with `make bench`. Each result compares two measurements of the same run, as a ratio
// or a difference, because machines have different speeds and other programs share
// them.
package bench
