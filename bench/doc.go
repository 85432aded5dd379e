// Package bench contains benchmarks for what Coleo promises about speed. Run them with `make
// bench`. Each result compares two measurements of the same run, as a ratio or a difference. Single
// measurements would mean little, because machines have different speeds and run other programs.
package bench
