package wire

// WhyQuestion asks why a line is in a file.
type WhyQuestion struct {
	// Paths are absolute paths of the file: the path that was asked for, and the path without
	// symbolic links.
	Paths []string
	Line  int    // the number of the line, from 1
	Text  string // the text of the line, without its end
}
