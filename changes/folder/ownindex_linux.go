package folder

import (
	"os"
	"slices"
	"syscall"
	"time"
)

//platform:linux Untracked files of a large repository = the host agent remembers them, on the usual file systems
//platform:macos Untracked files of a large repository = git looks for all of them in each diff

// withTimes lists the file systems that update a folder's time whenever a name in it is added or removed, as
// numbers of statfs(2). They are ext2 to ext4, xfs, btrfs, tmpfs, f2fs, zfs and overlayfs. Network file systems
// are missing, because they can report an old time.
var withTimes = []uint32{0xef53, 0x58465342, 0x9123683e, 0x01021994, 0xf2f52010, 0x2fc12fc1, 0x794c7630}

// keepsTimes reports whether git can rely on the times of the folders below `folder`.
func keepsTimes(folder string) bool {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return false
	}
	return slices.Contains(withTimes, uint32(s.Type)) // #nosec G115: file system types have 32 bits
}

func identify(info os.FileInfo) identity {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{inode: s.Ino, size: s.Size, written: info.ModTime(), made: time.Unix(s.Ctim.Unix())}
}
