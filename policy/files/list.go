package files

// List is the path of a list of files that the user trusts, each by the hash of its content.
// Other packages keep such lists for other files of projects.
type List string

// Hash returns the hash of the trusted content of a file, or "" if the file is not trusted.
func (l List) Hash(path string) (string, error) {
	trusted, err := l.paths().trusted()
	return trusted[path], err
}

// Set trusts the content of a file with the given hash.
func (l List) Set(path, hash string) error {
	return l.paths().change(func(trusted map[string]string) { trusted[path] = hash })
}

// Forget no longer trusts a file.
func (l List) Forget(path string) error {
	return l.paths().change(func(trusted map[string]string) { delete(trusted, path) })
}

func (l List) paths() Paths { return Paths{TrustFile: string(l)} }

// HashOf returns the hash of a file's content, in hexadecimal digits.
func HashOf(content []byte) string { return hashOf(content) }

// ReadProject reads a file of a project, of at most MaxSize bytes. Anybody may have written
// it. It returns EInvalid if it is not a regular file.
func ReadProject(path string) ([]byte, error) { return readProject(path) }

// ProjectFolders returns a folder and those above it up to the root of the repository.
// Outside of a repository, it returns only the folder. The folder must be absolute, without
// symbolic links.
func ProjectFolders(dir string) []string { return projectFolders(dir) }
