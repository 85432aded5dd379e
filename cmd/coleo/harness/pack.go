package harness

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/harnesses/terminal/pack"
	"coleo.dev/registry"
	"coleo.dev/wholefile"
)

// This file contains the verbs that list, check, add and remove packs. A pack is a signed file with
// newer rules for a harness.

func newPackCommand() *cobra.Command {
	c := verb.Group("pack", "Bring newer reading rules for a harness, without a new Coleo")
	c.AddCommand(newPackListCommand(), newPackCheckCommand(), newPackAddCommand(), newPackUpdateCommand(),
		newPackRemoveCommand(), newPackTrustCommand(), newPackKeygenCommand(), newPackMakeCommand())
	return c
}

// packInfo is a pack in the form that the verbs print.
type packInfo struct {
	Harness  string   `json:"harness"`
	Serial   int64    `json:"serial,omitempty"`
	Versions []string `json:"versions,omitempty"`
	Expires  string   `json:"expires,omitempty"`
	SignedBy string   `json:"signed_by,omitempty"`
	Problems []string `json:"problems"` // the reasons why the pack is not used, or cannot be installed
}

func infoOf(harness string, p *pack.Pack, problems []error) packInfo {
	out := packInfo{Harness: harness, Problems: []string{}}
	if p != nil {
		out = packInfo{Harness: p.Harness, Serial: p.Serial, Versions: p.Versions, Expires: p.Expires,
			SignedBy: pack.KeyText(p.Key), Problems: out.Problems}
	}
	for _, err := range problems {
		out.Problems = append(out.Problems, err.Error())
	}
	return out
}

func newPackListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the installed packs, and why one is not used",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			packs, err := installed.Packs(s).Installed(time.Now())
			if err != nil {
				return err
			}
			list := []packInfo{}
			for _, i := range packs {
				var wrong []error
				if i.Wrong != nil {
					wrong = []error{i.Wrong}
				}
				list = append(list, infoOf(i.Harness, i.Pack, wrong))
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, list)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "HARNESS\tSERIAL\tTESTED WITH\tLAST DAY\tSIGNED BY\tUSED")
			for _, i := range list {
				used := "yes"
				if len(i.Problems) > 0 {
					used = "no: " + strings.Join(i.Problems, "; ")
				}
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", i.Harness, i.Serial, strings.Join(i.Versions, ", "), i.Expires,
					i.SignedBy, used)
			}
			return w.Flush()
		},
	}
}

func newPackCheckCommand() *cobra.Command {
	var recordings string
	c := &cobra.Command{
		Use:   "check PACK",
		Short: "Show who signed a pack, for what and until when, and all its problems",
		Long: `Show who signed a pack, for which harness and versions, until when it is valid, and
all its problems. This installs nothing. The exit code is 1 if the pack cannot be installed here.`,
		Args: verb.Exactly(1, "the file of a pack"),
		RunE: func(c *cobra.Command, args []string) error { return checkPack(c, args[0], recordings) },
	}
	recordingsFlag(c, &recordings)
	return c
}

func recordingsFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "recordings", "",
		"also read the recordings in `FOLDER`, and compare the readings with its labels.txt")
}

func checkPack(c *cobra.Command, file, recordings string) error {
	s, err := setup.New()
	if err != nil {
		return err
	}
	data, err := readPack(file)
	if err != nil {
		return err
	}
	p, problems := pack.Check(file, data)
	if p != nil {
		problems = append(problems, installed.Packs(s).Problems(p, time.Now())...)
		if err := checkFits(s, p, recordings); err != nil {
			problems = append(problems, err)
		}
	}
	var result error
	if len(problems) > 0 {
		result = verb.Exit(1)
	}
	i := infoOf("", p, problems)
	if verb.WantsJSON(c) {
		if err := verb.PrintJSON(c, i); err != nil {
			return err
		}
		return result
	}
	if p != nil {
		fmt.Fprintf(c.OutOrStdout(), "pack %d for %s\njudged on:  %s\nlast day:   %s\nsigned by:  %s\n", i.Serial, i.Harness,
			strings.Join(i.Versions, ", "), i.Expires, i.SignedBy)
	}
	for _, problem := range i.Problems {
		fmt.Fprintln(c.OutOrStdout(), "problem:   ", problem)
	}
	return result
}

// readPack reads a file that the user has named as a pack. It reads one byte more than the largest
// allowed size, so that the caller can recognize a file that is too large.
func readPack(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // with O_NONBLOCK, even opening a pipe does not block
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "open the pack: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not a regular file, so it is not a pack", file)
	}
	return io.ReadAll(io.LimitReader(f, pack.MaxSize+1))
}

// checkFits returns an error if the pack's harness does not exist, or if the pack does not fit that harness. If
// recordingsDir is not "", checkFits also reads the recordings in that folder with the pack. It returns an
// error if a recording shows other states than its label lists.
func checkFits(s setup.Setup, p *pack.Pack, recordingsDir string) error {
	reg, err := installed.ReadRegistry(s)
	if reg == nil {
		return err
	}
	h, err := reg.Get(p.Harness)
	if err != nil {
		return err
	}
	joined, err := registry.Join(h, p)
	if err != nil || recordingsDir == "" {
		return err
	}
	return readsAsLabelled(joined, p.Versions[0], recordingsDir)
}

// changePacks calls the given function with the store of the installed packs. It holds a lock
// during the call, so that no other process changes the packs. Inside an arm, it returns an error,
// because an arm must not change the rules with which Coleo reads it.
func changePacks(do func(s setup.Setup, store pack.Store) error) error {
	s, err := setup.New()
	if err != nil {
		return err
	}
	if err := s.Prepare(); err != nil {
		return err
	}
	store := installed.Packs(s)
	if err := store.Prepare(); err != nil {
		return err
	}
	unlock, err := wholefile.Lock(filepath.Join(store.Dir(), ".lock"))
	if err != nil {
		return fmt.Errorf("change the packs: %w", err)
	}
	defer unlock()
	return do(s, store)
}

func newPackAddCommand() *cobra.Command {
	var recordings string
	c := &cobra.Command{
		Use:   "add PACK",
		Short: "Install a pack",
		Long: `Install a pack. Running arms use it within two seconds.

The pack must be signed by a key that you trust ('coleo harness pack trust'). It
must be newer than every pack that was installed for its harness, and must not
have expired. A pack with any problem changes nothing.`,
		Args: verb.Exactly(1, "the file of a pack"),
		RunE: func(c *cobra.Command, args []string) error {
			return changePacks(func(s setup.Setup, store pack.Store) error {
				p, err := addPack(s, store, args[0], recordings)
				if err != nil {
					return err
				}
				return verb.Say(c, installedLine(p), infoOf("", p, nil))
			})
		},
	}
	recordingsFlag(c, &recordings)
	return c
}

func addPack(s setup.Setup, store pack.Store, file, recordings string) (*pack.Pack, error) {
	data, err := readPack(file)
	if err != nil {
		return nil, err
	}
	p, err := store.Add(file, data, time.Now(), func(p *pack.Pack) error { return checkFits(s, p, recordings) })
	if err != nil {
		return nil, coleo.Errorf(coleo.ErrorCode(err), "nothing was installed: %v", err)
	}
	return p, nil
}

func installedLine(p *pack.Pack) string {
	return fmt.Sprintf("pack %d for %s is installed; it was tested with %s, and its last day is %s", p.Serial, p.Harness,
		strings.Join(p.Versions, ", "), p.Expires)
}

func newPackRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove HARNESS",
		Short: "Remove the pack of a harness",
		Long: `Remove the pack of a harness. The harness then uses its own rules alone. A pack
that is older than the removed one still cannot be installed.`,
		Args: verb.Exactly(1, "the name of a harness"),
		RunE: func(c *cobra.Command, args []string) error {
			return changePacks(func(_ setup.Setup, store pack.Store) error {
				if err := store.Remove(args[0]); err != nil {
					return err
				}
				return verb.Say(c, "the pack for "+args[0]+" is removed", map[string]string{"removed": args[0]})
			})
		},
	}
}
