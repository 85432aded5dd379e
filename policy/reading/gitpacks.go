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
	path    string // path of the pack's files without .pack or .idx
}

// readPacks returns the packs of a repository.
func (w Workspace) readPacks(repository string) ([]gitPack, error) {
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
	// packTable is the offset of the first hash in the index of a pack. A header of 8 bytes and a table of 256
	// numbers come before it.
	packTable = 8 + 256*4
	// largestBucket is the largest number of objects of a pack whose hashes begin with the same byte. It
	// bounds the memory for a damaged index.
	largestBucket = 1 << 20
	// farOffset is the bit that marks an offset as an index into a second table. The second table contains the
	// offsets of 2 gigabytes and more.
	farOffset = 1 << 31
)

// packedObject is an object in a pack, and its offset in the pack.
type packedObject struct {
	hash   string
	offset int64
}

// find returns the objects of a pack whose hashes begin with the given digits.
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

// offset returns the position of an object in the pack. `number` is the object's place in the index, and
// `all` is the number of objects in the index.
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

// mostDeltas is the longest chain of objects that a pack stores as differences from each other. Git allows at
// most 4095 in a chain.
const mostDeltas = 4095

// readObject returns the kind of the object at an offset of the pack. For a tag, it also returns the beginning
// of its content. If the pack stores the object as a difference from another object (a delta), readObject
// returns only the kind. It follows at most `deltas` such differences.
func (p gitPack) readObject(offset int64, deltas int) (kind, content string, err error) {
	data, err := p.machine.Part(p.path+".pack", offset, firstBytes)
	if err != nil {
		return "", "", err
	}
	at := 0
	for at < len(data) && data[at] >= 0x80 {
		at++ // skips the rest of the object's size
	}
	at++
	if at+hashSize > len(data) || deltas == 0 { // a pack ends with a hash, so an object cannot begin in the last bytes
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
			err = nil // the data may be cut off, which is no error if there is content
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
		kind, _, err = p.readObject(offset-back, deltas-1)
		return kind, "", err
	case 7:
		base, err := p.find(hex.EncodeToString(data[at : at+hashSize]))
		if err != nil || len(base) == 0 {
			return "", "", fmt.Errorf("an object of %s.pack cannot be read", p.path)
		}
		kind, _, err = p.readObject(base[0].offset, deltas-1)
		return kind, "", err
	}
	return "", "", fmt.Errorf("an object of %s.pack cannot be read", p.path)
}
