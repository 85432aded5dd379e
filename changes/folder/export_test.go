package folder

// StoreFirst makes each diff store the files before git compares them.
func (f *Folder) StoreFirst() { f.snapshots = true }

// WithoutLists returns an index as it is copied.
func WithoutLists(data []byte, format string) ([]byte, error) {
	return withoutLists(data, store{format: format})
}
