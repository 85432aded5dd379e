package files

// List is the path of a file that lists the files which the user trusts. The list has the hash of the trusted
// content for each of them. Other packages use a List of their own for other files of projects.
type List string

// Hash returns the hash of a file's trusted content. If the file is not trusted, Hash returns "".
func (l List) Hash(path string) (string, error) {
	trusted, err := l.paths().readTrusted()
	return trusted[path], err
}

// Set adds the file at `path` to the list of trusted files. The file is trusted as long as its content has the
// given hash.
func (l List) Set(path, hash string) error {
	return l.paths().changeTrust(func(trusted map[string]string) { trusted[path] = hash })
}

// Forget makes a file untrusted.
func (l List) Forget(path string) error {
	return l.paths().changeTrust(func(trusted map[string]string) { delete(trusted, path) })
}

func (l List) paths() Paths { return Paths{TrustFile: string(l)} }

// HashOf returns the hash that a List stores for a file with the given content, in hexadecimal
// digits.
func HashOf(content []byte) string { return hashOf(content) }

// ReadProject reads a file of a project. The error is EInvalid if the file is not a regular file or
// has more than MaxSize bytes. These checks are necessary because anybody may have written the
// file.
func ReadProject(path string) ([]byte, error) { return readProject(path) }

// ProjectFolders returns the folder dir and the folders above it, up to the root of the repository.
// Outside of a repository, it returns only dir. The path dir must be absolute, without symbolic
// links.
func ProjectFolders(dir string) []string { return projectFolders(dir) }
