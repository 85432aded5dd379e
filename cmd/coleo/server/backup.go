package server

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/paths"
	"coleo.dev/store"
)

// This file contains the verbs backup and repair.

func newBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the databases and your configuration to one file",
		Long: `Write the databases, config.toml, policy.toml, your harness files and your templates
to FILE (tar.gz).

Serve, the host agent and the arms may continue to run. FILE must not exist
yet.

FILE contains prompts and answers, so keep it private. It contains no token and
no key, so make operator tokens again after you have put it back. It contains
neither the output of arms nor the values of the variables that you gave to arms
(-e, --env-file).`,
		Example: `  coleo backup ~/coleo-$(date +%F).tar.gz`,
		Args:    verb.Exactly(1, "the file to write"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			if err := s.Prepare(); err != nil {
				return err
			}
			names, err := writeBackup(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"file": args[0], "holds": names})
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s holds %s\n", args[0], strings.Join(names, ", "))
			return err
		},
	}
}

// writeBackup writes a backup to the file at `path`, completely or not at all. It returns the names of the
// files in the backup. If a file already exists at `path`, the error is EConflict.
func writeBackup(ctx context.Context, s setup.Setup, path string) (names []string, err error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, coleo.Errorf(coleo.EConflict, "%s exists already: nothing was written", path)
	}
	// The temporary folder must be on the same disk as path, because os.Link works only within one
	// disk. That disk needs room for the backup anyway.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".coleo-backup-")
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the folder %s cannot be written to (%v): nothing was written; "+
			"name a file in another folder", filepath.Dir(path), verb.Cause(err))
	}
	defer os.RemoveAll(dir)
	// Serve's database is copied before the hosts' logs. The copies of the logs may then have newer events than
	// the copy of serve's database, but they contain every event that it refers to.
	files := map[string]string{}
	for _, db := range []string{s.ServeDB(), s.HostDB(), s.LocalDB()} {
		copied := filepath.Join(dir, filepath.Base(db))
		err := store.Copy(ctx, db, copied)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the process that creates this database has never run on this machine
		}
		switch {
		case err != nil:
		case db == s.ServeDB():
			err = store.ForgetTokens(ctx, copied)
		default:
			err = store.MarkBackup(ctx, copied)
		}
		if err != nil {
			return nil, err
		}
		name := "state/" + filepath.Base(db)
		names, files[name] = append(names, name), copied
	}
	// The backup contains threads.json, the titles that users have given to conversations. It omits the index of
	// conversations, because Coleo can build the index again.
	if titles := filepath.Join(s.State, "threads.json"); isRegular(titles) {
		names, files["state/threads.json"] = append(names, "state/threads.json"), titles
	}
	own := []string{s.File(), s.PolicyFile()}
	for _, folder := range []string{s.Harnesses(), s.Templates()} {
		list, err := filepath.Glob(filepath.Join(paths.Quote(folder), "*.toml"))
		if err != nil {
			return nil, err
		}
		own = append(own, list...)
	}
	for _, file := range own {
		if !isRegular(file) {
			continue
		}
		name, err := filepath.Rel(s.Config, file)
		if err != nil {
			return nil, err
		}
		name = "config/" + filepath.ToSlash(name)
		names, files[name] = append(names, name), file
	}
	packed := filepath.Join(dir, "packed")
	if err := pack(packed, names, files); err != nil {
		return nil, fmt.Errorf("write a backup: %w", err)
	}
	if err := os.Link(packed, path); err != nil { // unlike a rename, a link never replaces an existing file
		return nil, fmt.Errorf("write a backup: %w", err)
	}
	return names, nil
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// pack writes files into a compressed archive, and syncs the archive to the disk.
func pack(to string, names []string, files map[string]string) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(out)
	archive := tar.NewWriter(zip)
	for _, name := range names {
		if err = packOne(archive, name, files[name]); err != nil {
			break
		}
	}
	if err == nil {
		err = archive.Close()
	}
	return errors.Join(err, zip.Close(), out.Sync(), out.Close())
}

func packOne(archive *tar.Writer, name, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(),
		ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.CopyN(archive, in, info.Size())
	return err
}

func newRepairCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "repair",
		Short: "Move damaged databases aside, so that new ones are created",
		Long: `Move damaged databases aside, so that the next 'coleo up' creates new ones.

This deletes nothing, and moves only what is damaged. Run 'coleo down' first:
neither serve nor the host agent may run. The arms continue to run.

A new serve.db is built from the logs of the host agents. A new host.db is
built from the arms' folders. The record of commands ('coleo audit') is not
restored.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			if err := s.Prepare(); err != nil {
				return err
			}
			moved := []string{}
			for _, db := range []string{s.ServeDB(), s.HostDB(), s.LocalDB()} {
				aside, err := store.SetAside(db, time.Now())
				if err != nil {
					return err
				}
				if aside != "" {
					moved = append(moved, aside)
				}
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"moved": moved})
			}
			word := "The databases are sound: nothing was moved."
			if len(moved) > 0 {
				word = "moved to " + strings.Join(moved, " and ") + "\n'coleo up' creates new ones."
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), word)
			return err
		},
	}
}

// openError returns err. If err reports a damaged database, openError adds how to repair the database.
func openError(err error) error {
	if !store.Damaged(err) {
		return err
	}
	return coleo.Errorf(coleo.EInternal,
		"%v: run 'coleo down', then 'coleo repair', which moves it aside and deletes nothing", err)
}
