package reading

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// gitPack is a file of git that contains many objects.
type gitPack struct {
	machine Machine
	path    string // path without the end .pack or .idx
}

// packs returns the packs of a repository.
func (w Workspace) packs(repository string) ([]gitPack, error) {
	dir := filepath.Join(repository, "objects/pack")
	if !w.Machine.IsFolder(dir) {
		return nil, nil
	}
	names, err := w.Machine.Names(dir)
	if err != nil {
		return nil, err
	}
	var out []gitPack
	for _, name := range names {
		if base, isIndex := strings.CutSuffix(name, ".idx"); isIndex {
			out = append(out, gitPack{machine: w.Machine, path: filepath.Join(dir, base)})
		}
	}
	return out, nil
}

const (
	// hashSize is the size of a hash of git, in bytes.
	hashSize = 20
	// packTable is where the hashes begin in the index of a pack, after a head of 8 bytes and 256 numbers.
	packTable = 8 + 256*4
	// largestBucket is how many objects of a pack may have hashes that begin with the same byte.
	largestBucket = 1 << 20
	// farOffset marks an offset that is in a table of its own.
	farOffset = 1 << 31
)

// packedObject is the place of an object in a pack.
type packedObject struct {
	hash   string
	offset int64
}

// find returns the objects of a pack whose hashes have the given beginning.
func (p gitPack) find(beginning string) ([]packedObject, error) {
	head, err := p.machine.Part(p.path+".idx", 0, packTable)
	if err != nil {
		return nil, err
	}
	if len(head) < packTable || string(head[:8]) != "\xfftOc\x00\x00\x00\x02" {
		return nil, fmt.Errorf("%s.idx has an unknown form", p.path)
	}
	upTo := func(i int) int64 { return int64(binary.BigEndian.Uint32(head[8+4*i:])) }
	first, err := hex.DecodeString(beginning[:2])
	if err != nil {
		return nil, err
	}
	from, to, all := int64(0), upTo(int(first[0])), upTo(255)
	if first[0] > 0 {
		from = upTo(int(first[0]) - 1)
	}
	if from > to || to > all || to-from > largestBucket {
		return nil, fmt.Errorf("%s.idx has an unknown form", p.path)
	}
	hashes, err := p.machine.Part(p.path+".idx", packTable+from*hashSize, int(to-from)*hashSize)
	if err != nil {
		return nil, err
	}
	var out []packedObject
	for i := int64(0); i*hashSize+hashSize <= int64(len(hashes)); i++ {
		hash := hex.EncodeToString(hashes[i*hashSize : (i+1)*hashSize])
		if !strings.HasPrefix(hash, beginning) {
			continue
		}
		offset, err := p.offset(from+i, all)
		if err != nil {
			return nil, err
		}
		out = append(out, packedObject{hash: hash, offset: offset})
	}
	return out, nil
}

// offset returns where an object is in the pack. It is the object with the given number of all objects.
func (p gitPack) offset(number, all int64) (int64, error) {
	table := packTable + all*(hashSize+4)
	data, err := p.machine.Part(p.path+".idx", table+4*number, 4)
	if err != nil || len(data) < 4 {
		return 0, fmt.Errorf("%s.idx is cut off: %v", p.path, err)
	}
	offset := int64(binary.BigEndian.Uint32(data))
	if offset < farOffset {
		return offset, nil
	}
	data, err = p.machine.Part(p.path+".idx", table+4*all+8*(offset-farOffset), 8)
	if err != nil || len(data) < 8 || data[0] > 127 {
		return 0, fmt.Errorf("%s.idx is cut off: %v", p.path, err)
	}
	return int64(binary.BigEndian.Uint64(data)), nil
}

// mostDeltas is how many objects of a pack may be stored as differences to each other. Git has at most 4095
// of them in a row.
const mostDeltas = 4095

// object returns the kind of the object at an offset of the pack. It also returns the beginning of its content
// if git has stored the content whole.
func (p gitPack) object(offset int64, deltas int) (kind, content string, err error) {
	data, err := p.machine.Part(p.path+".pack", offset, firstBytes)
	if err != nil {
		return "", "", err
	}
	at := 0
	for at < len(data) && data[at] >= 0x80 {
		at++ // the rest of the object's size
	}
	at++
	if at+hashSize > len(data) || deltas == 0 { // the pack itself ends with a hash
		return "", "", fmt.Errorf("an object of %s.pack cannot be read", p.path)
	}
	switch data[0] >> 4 & 7 {
	case 1:
		return "commit", "", nil
	case 2:
		return "tree", "", nil
	case 3:
		return "blob", "", nil
	case 4:
		content, err = inflated(data[at:])
		if content != "" {
			err = nil // the end of the data is cut off
		}
		return "tag", content, err
	case 6:
		back := int64(data[at] & 0x7f)
		for ; at < len(data)-1 && data[at] >= 0x80; at++ {
			back = (back+1)<<7 | int64(data[at+1]&0x7f)
		}
		if back <= 0 || back > offset {
			return "", "", fmt.Errorf("an object of %s.pack cannot be read", p.path)
		}
		kind, _, err = p.object(offset-back, deltas-1)
		return kind, "", err
	case 7:
		base, err := p.find(hex.EncodeToString(data[at : at+hashSize]))
		if err != nil || len(base) == 0 {
			return "", "", fmt.Errorf("an object of %s.pack cannot be read", p.path)
		}
		kind, _, err = p.object(base[0].offset, deltas-1)
		return kind, "", err
	}
	return "", "", fmt.Errorf("an object of %s.pack cannot be read", p.path)
}
