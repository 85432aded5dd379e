package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/harnesses/terminal/pack"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/paths"
)

// This file contains the verbs that make keys and packs, trust keys, and update packs.

func newPackTrustCommand() *cobra.Command {
	remove := false
	c := &cobra.Command{
		Use:   "trust FILE",
		Short: "Trust the packs that a key has signed",
		Long: `Trust the packs that a key has signed. FILE has the public key, as 'coleo harness
pack keygen' writes it. No key is trusted by default.`,
		Args: verb.Exactly(1, "the file of a public key"),
		RunE: func(c *cobra.Command, args []string) error {
			key, err := pack.ReadPublicKey(args[0])
			if err != nil {
				return err
			}
			return changePacks(func(_ setup.Setup, store pack.Store) error {
				line, change := "packs that are signed by %s can be installed now", store.Trust
				if remove {
					line, change = "packs that are signed by %s are no longer used", store.Distrust
				}
				if err := change(key); err != nil {
					return err
				}
				return verb.Say(c, fmt.Sprintf(line, pack.KeyText(key)), map[string]any{"key": pack.KeyText(key),
					"trusted": !remove})
			})
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "no longer trust the key")
	return c
}

func newPackKeygenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen FILE",
		Short: "Make a key pair that signs packs",
		Long: `Make a key pair that signs packs. FILE gets the private key, which only you can
read. FILE.pub gets the public key.`,
		Args: verb.Exactly(1, "the file for the private key"),
		RunE: func(c *cobra.Command, args []string) error {
			key, err := pack.NewKey(args[0])
			if err != nil {
				return err
			}
			return verb.Say(c, fmt.Sprintf("the private key is in %s; the public key is in %s.pub: %s", args[0], args[0],
				pack.KeyText(key)), map[string]string{"private": args[0], "public": args[0] + ".pub",
				"key": pack.KeyText(key)})
		},
	}
}

func newPackMakeCommand() *cobra.Command {
	var order pack.Order
	var key, out string
	c := &cobra.Command{
		Use:   "make RULES.toml",
		Short: "Make a pack from reading rules, and sign it",
		Long: `Make a pack from reading rules, and sign it. RULES.toml may have [[rule]],
[[dialog]] and [composer]. docs/packs.md lists the keys that they may have. Any
other key is refused with its line.`,
		Example: `  coleo harness pack make --key KEY --harness HARNESS --versions 1.2.3,1.2.4 \
    --serial 1 --expires 2027-01-31 RULES.toml -o HARNESS.pack`,
		Args: verb.Exactly(1, "a file with rules"),
		RunE: func(c *cobra.Command, args []string) error {
			if key == "" || out == "" {
				return coleo.Errorf(coleo.EInvalid, "name the private key with --key, and the file for the pack with -o")
			}
			rules, err := readPack(args[0])
			if err != nil {
				return err
			}
			order.File, order.Rules = args[0], rules
			data, err := pack.Make(key, order, time.Now())
			if err != nil {
				return err
			}
			if err := os.WriteFile(out, data, 0o644); err != nil {
				return fmt.Errorf("write the pack: %w", err)
			}
			p, _ := pack.Check(out, data)
			return verb.Say(c, fmt.Sprintf("pack %d for %s is in %s", p.Serial, p.Harness, out), infoOf("", p, nil))
		},
	}
	c.Flags().StringVar(&key, "key", "", "`FILE` with the private key")
	c.Flags().StringVar(&order.Harness, "harness", "", "`NAME` of the harness")
	c.Flags().StringSliceVar(&order.Versions, "versions", nil,
		"`VERSIONS` of the agent CLI with which the rules were tested")
	c.Flags().Int64Var(&order.Serial, "serial", 0, "`NUMBER` that is higher than the number of each earlier pack")
	c.Flags().StringVar(&order.Expires, "expires", "", "last `DATE` on which the pack is used, such as 2027-01-31")
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` for the pack")
	return c
}

func newPackUpdateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "update [FOLDER]",
		Short: "Install the newer packs of a folder",
		Long: `Install the packs (*.pack) of a folder that are newer than the installed ones.
Without a FOLDER, this uses 'folder' below [packs] in config.toml. Coleo looks
into the folder only when you run this verb.`,
		Args: verb.AtMost(1, "a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			return changePacks(func(s setup.Setup, store pack.Store) error {
				folder := s.Settings.Packs.Folder
				if len(args) > 0 {
					folder = args[0]
				}
				if folder == "" {
					return coleo.Errorf(coleo.EInvalid, "name a folder, or set 'folder' below [packs] in %s", s.File())
				}
				return updatePacks(c, s, store, folder)
			})
		},
	}
}

// updatePacks installs those packs in a folder that are newer than the installed ones. A problem
// with one pack does not stop the others: updatePacks returns all problems as one error at the end.
func updatePacks(c *cobra.Command, s setup.Setup, store pack.Store, folder string) error {
	files, err := filepath.Glob(filepath.Join(paths.Quote(folder), "*.pack"))
	if _, statErr := os.Stat(folder); err == nil {
		err = statErr
	}
	if err != nil {
		return coleo.Errorf(coleo.EInvalid, "look into the folder of packs: %w", err)
	}
	installed, err := store.Installed(time.Now())
	if err != nil {
		return err
	}
	list, wrong := []packInfo{}, []error{}
	for _, file := range files {
		data, err := readPack(file)
		if err == nil && slices.ContainsFunc(installed, func(i pack.Installed) bool { return i.AtLeast(file, data) }) {
			continue
		}
		p, err := addPack(s, store, file, "")
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
			continue
		}
		list = append(list, infoOf("", p, nil))
		if !verb.WantsJSON(c) {
			fmt.Fprintln(c.OutOrStdout(), installedLine(p))
		}
	}
	if verb.WantsJSON(c) {
		wrong = append(wrong, verb.PrintJSON(c, list))
	}
	return errors.Join(wrong...)
}

// readsAsLabelled reads the recordings in a folder with the harness h. Its error names each
// recording whose states differ from its label.
func readsAsLabelled(h *terminal.Harness, version, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, labelsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return coleo.Errorf(coleo.EInvalid, "%s has no %s: 'coleo harness test --record' writes one", dir, labelsFile)
	}
	if err != nil {
		return fmt.Errorf("read the labels: %w", err)
	}
	var wrong []string
	count := 0
	for line := range strings.Lines(string(text)) {
		name, want, is := strings.Cut(strings.TrimSpace(line), ": ")
		if !is || strings.HasPrefix(name, "#") {
			continue
		}
		in, err := openInput(filepath.Join(dir, filepath.Base(name)+".cast"))
		if err != nil {
			return err
		}
		if in.cast == nil {
			return coleo.Errorf(coleo.EInvalid, "%s in %s is a screen, not a recording", name, dir)
		}
		count++
		rec := reading.Recording{Cast: in.cast, Until: -1, Version: version}
		if got := h.Label(rec); got != want {
			wrong = append(wrong, fmt.Sprintf("%s is read as %q, but its label is %q", name, got, want))
		}
	}
	switch {
	case count == 0:
		return coleo.Errorf(coleo.EInvalid, "%s has no recording with a label", dir)
	case len(wrong) > 0:
		return coleo.Errorf(coleo.EInvalid, "the readings of %d of %d recordings do not match their labels: %s",
			len(wrong), count, strings.Join(wrong, "; "))
	}
	return nil
}
