package reading

// Remembering returns a copy of the workspace that asks the machine each question only once. Use
// the copy for one judgement only, because the machine can change.
func (w Workspace) Remembering() Workspace {
	w.Machine = &remembering{Machine: w.Machine, resolved: memory[string]{}, programs: memory[string]{},
		names: memory[[]string]{}, texts: memory[string]{}, folders: memory[bool]{}, specials: memory[string]{}}
	return w
}

// remembering is a Machine that keeps the answers of another Machine.
type remembering struct {
	Machine
	resolved, programs, texts, specials memory[string]
	names                               memory[[]string]
	folders                             memory[bool]
}

// memory maps questions to their answers.
type memory[T any] map[string]answer[T]

type answer[T any] struct {
	value T
	err   error
}

func (m memory[T]) ask(about string, ask func(string) (T, error)) (T, error) {
	a, known := m[about]
	if !known {
		a.value, a.err = ask(about)
		m[about] = a
	}
	return a.value, a.err
}

func (r *remembering) Resolve(path string) (string, error) {
	return r.resolved.ask(path, r.Machine.Resolve)
}

func (r *remembering) Program(name string) (string, error) {
	return r.programs.ask(name, r.Machine.Program)
}

func (r *remembering) Names(dir string) ([]string, error) { return r.names.ask(dir, r.Machine.Names) }

func (r *remembering) Text(path string) (string, error) { return r.texts.ask(path, r.Machine.Text) }

func (r *remembering) IsFolder(path string) bool {
	is, _ := r.folders.ask(path, func(path string) (bool, error) { return r.Machine.IsFolder(path), nil })
	return is
}

func (r *remembering) Special(path string) string {
	what, _ := r.specials.ask(path, func(path string) (string, error) { return r.Machine.Special(path), nil })
	return what
}
