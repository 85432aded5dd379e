package registry

import (
	"errors"
	"maps"
	"slices"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/harnesses/terminal/pack"
)

// packs contains the packs of a folder, and joins each pack with its harness. A pack contains newer
// rules for reading a harness's screen.
type packs struct {
	store *pack.Store // the folder of the packs; nil if the registry uses no packs
	now   func() time.Time

	stamp  string
	used   map[string]*pack.Pack    // the packs in use, by the name of their harness
	wrong  []error                  // the reasons why packs are not used, one for each such pack
	joined map[string]packedHarness // the harnesses with packs, by name
}

// packedHarness is a harness with its pack.
type packedHarness struct {
	plain  coleo.Harness
	digest string // the digest of the pack
	whole  coleo.Harness
}

// readIfChanged reads the packs again if their files have changed, or if a pack may have expired.
// It reports whether it has read the packs.
func (p *packs) readIfChanged() bool {
	if p.store == nil {
		return false
	}
	now := p.now()
	stamp := p.store.Stamp(now)
	if stamp == p.stamp {
		return false
	}
	p.stamp, p.used, p.wrong = stamp, map[string]*pack.Pack{}, nil
	list, err := p.store.Installed(now)
	if err != nil {
		p.wrong = append(p.wrong, err)
	}
	for _, i := range list {
		if i.Wrong != nil {
			p.wrong = append(p.wrong, i.Wrong)
			if errors.Is(i.Wrong, syscall.EMFILE) || errors.Is(i.Wrong, syscall.ENFILE) {
				p.stamp = "" // the next call tries again
			}
			continue
		}
		p.used[i.Harness] = i.Pack
	}
	return true
}

// join returns all harnesses by name. A harness with a pack in use has the rules of this pack too. If
// neither a harness nor its pack has changed since the last call, the result contains the same object
// as the last result.
func (p *packs) join(plain map[string]coleo.Harness) map[string]coleo.Harness {
	out, kept := maps.Clone(plain), map[string]packedHarness{}
	for name, pack := range p.used {
		was, h := p.joined[name], plain[name]
		if h == nil || was.plain != h || was.digest != pack.Digest {
			whole, err := Join(h, pack)
			if err != nil {
				continue
			}
			was = packedHarness{plain: h, digest: pack.Digest, whole: whole}
		}
		out[name], kept[name] = was.whole, was
	}
	p.joined = kept
	return out
}

// Join returns a harness that uses the rules of a pack. It returns EUnsupported if the harness h is
// nil, or if h reads no screen.
func Join(h coleo.Harness, p *pack.Pack) (*terminal.Harness, error) {
	th, ok := h.(*terminal.Harness)
	if !ok {
		return nil, coleo.Errorf(coleo.EUnsupported, "no harness %q reads a "+
			"screen here, so a pack would have no effect", p.Harness)
	}
	return th.WithPack(p.Rules), nil
}

// PackProblems returns the reasons why packs are not used, or nil if all packs are used. A harness
// whose pack is not used has only its own rules.
func (r *Registry) PackProblems() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refresh()
	wrong := slices.Clone(r.packs.wrong)
	for name, pack := range r.packs.used {
		if _, err := Join(r.plain[name], pack); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}
