package folder

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// These constants belong to the format of git's index: see gitformat-index in git's manual.
const (
	indexSignature = "DIRC"
	indexVersion   = 3 // the first version of git's index that has extended flags
	indexHeader    = 12
	// statSize is the number of bytes of an entry's times, device, inode, mode, owner and size.
	statSize = 40
	modeAt   = 24 // offset of the mode in an entry, in bytes

	extended    = 0x4000 // a flag: two more bytes of flags follow
	intentToAdd = 0x2000 // an extended flag: only the work folder contains the file
	longName    = 0x0fff // the flags contain this number for each name that is at least as long
	alignment   = 8      // the size of each entry is a multiple of this number of bytes
)

// emptyBlob maps each object format to the id of the empty file. Git's index contains this id for a
// file that exists only in the work folder.
var emptyBlob = map[string]string{
	"sha1":   "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
	"sha256": "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}

// newFile is the mode that writeEntry gives a file that the base does not contain. Git compares this mode with the
// mode of the file in the folder.
const newFile = "100644"

// indexOf returns an index with the base's version of each entry, so that git diff compares exactly
// these entries with the folder. The entries must be sorted by name. The times in the index are zero,
// so git reads every file.
func (f *Folder) indexOf(entries []lookResult) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(indexSignature)
	out.Write(binary.BigEndian.AppendUint32(nil, indexVersion))
	out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(entries)))) // #nosec G115: at most MaxFiles entries
	for _, e := range entries {
		if err := f.writeEntry(&out, e); err != nil {
			return nil, err
		}
	}
	sum := store{format: f.format}.hash()
	sum.Write(out.Bytes())
	return sum.Sum(out.Bytes()), nil
}

func (f *Folder) writeEntry(out *bytes.Buffer, e lookResult) error {
	mode, id, flags := e.mode, e.id, min(len(e.name), longName)
	made := mode == ""
	if made {
		mode, id, flags = newFile, emptyBlob[f.format], flags|extended
	}
	number, err := strconv.ParseUint(mode, 8, 32)
	if err != nil {
		return err
	}
	object, err := hex.DecodeString(id)
	if err != nil {
		return err
	}
	begin := out.Len()
	stat := make([]byte, statSize)
	binary.BigEndian.PutUint32(stat[modeAt:], uint32(number))
	out.Write(stat)
	out.Write(object)
	out.Write(binary.BigEndian.AppendUint16(nil, uint16(flags))) // #nosec G115: longName bounds the flags
	if made {
		out.Write(binary.BigEndian.AppendUint16(nil, intentToAdd))
	}
	out.WriteString(e.name)
	// Pad the entry with zero bytes. At least one of them must end the name.
	out.Write(make([]byte, alignment-(out.Len()-begin)%alignment))
	return nil
}
