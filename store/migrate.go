package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"coleo.dev"
)

//go:embed migrations
var migrations embed.FS

// schema describes the tables of a database as numbered steps. Each change of the tables adds a new
// step, and a step that was released is never edited.
type schema struct {
	folder string // the name of a folder in migrations, whose files, sorted by name, are steps 1, 2, 3, ...
	mark   int    // SQLite's application_id, which differs between the two databases
	// The field `then` contains the functions that finish the steps for which SQL is not enough. The keys are
	// the names of the steps' files. The functions are called after the last step, because the code of this
	// package reads and writes only the newest tables.
	then map[string]func(*sql.Tx) error
}

// migrate carries out the steps that the database still lacks, in one transaction. PRAGMA
// user_version is the number of completed steps. migrate returns EConflict if a newer Coleo has
// completed more steps. It returns EInvalid if the application_id shows that the file is another
// database.
func (s schema) migrate(d *database) error {
	steps, err := fs.ReadDir(migrations, "migrations/"+s.folder)
	if err != nil {
		return err
	}
	var done, mark int
	if err := d.writer.QueryRow(
		"SELECT user_version, application_id FROM pragma_user_version, pragma_application_id").Scan(&done,
		&mark); err != nil {
		return err
	}
	if done > 0 && mark != s.mark {
		return coleo.Errorf(coleo.EInvalid, "open store %s: it is not a %s database of coleo", d.path, s.folder)
	}
	if done > len(steps) {
		return coleo.Errorf(coleo.EConflict,
			"open store %s: its tables are at version %d and this coleo knows up to %d: use a newer coleo",
			d.path, done, len(steps))
	}
	if done == len(steps) {
		return nil
	}
	return d.write(context.Background(), intent, func(tx *sql.Tx) error {
		for _, step := range steps[done:] {
			if err := s.change(tx, step.Name()); err != nil {
				return fmt.Errorf("migration %s: %w", step.Name(), err)
			}
		}
		for _, step := range steps[done:] { // these functions run after all steps, because they use the newest tables
			if then := s.then[step.Name()]; then != nil {
				if err := then(tx); err != nil {
					return fmt.Errorf("migration %s: %w", step.Name(), err)
				}
			}
		}
		_, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", len(steps), s.mark))
		return err
	})
}

// change executes the statements of one step.
func (s schema) change(tx *sql.Tx, name string) error {
	text, err := migrations.ReadFile("migrations/" + s.folder + "/" + name)
	if err != nil {
		return err
	}
	_, err = tx.Exec(string(text))
	return err
}
