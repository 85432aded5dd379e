package files

// List is the path of a file that lists files. The user trusts the files in the list. The list
// contains the hash of each file's trusted content. Other packages keep separate lists for other
// files of projects.
type List string

// Hash returns the hash of a file's trusted content. If the file is not trusted, Hash returns "".
func (l List) Hash(path string) (string, error) {
	trusted, err := l.paths().trusted()
	return trusted[path], err
}

// Set makes a file trusted. The user trusts the content with the given hash.
func (l List) Set(path, hash string) error {
	return l.paths().change(func(trusted map[string]string) { trusted[path] = hash })
}

// Forget makes a file untrusted.
func (l List) Forget(path string) error {
	return l.paths().change(func(trusted map[string]string) { delete(trusted, path) })
}

func (l List) paths() Paths { return Paths{TrustFile: string(l)} }

// HashOf returns the hash of a file's content, in hexadecimal digits.
func HashOf(content []byte) string { return hashOf(content) }

// ReadProject reads a file of a project. Anybody may have written the file. If the file is not a
// regular file, or has more than MaxSize bytes, the error is EInvalid.
func ReadProject(path string) ([]byte, error) { return readProject(path) }

// ProjectFolders returns the folder dir and the folders above it, up to the root of the repository.
// Outside of a repository, it returns only dir. The path dir must be absolute, without symbolic
// links.
func ProjectFolders(dir string) []string { return projectFolders(dir) }
