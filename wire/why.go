package wire

// WhyQuestion asks which tool call wrote a line of a file.
type WhyQuestion struct {
	// Paths contains absolute paths of the file: the path in the request, and the path without
	// symbolic links.
	Paths []string
	Line  int    // the number of the line, from 1
	Text  string // the text of the line, without the line break
}
