package wholefile

import "io/fs"

// OwnerOnly is the mode of a file that only its owner can read.
const OwnerOnly fs.FileMode = 0o600

// OpenToOthers reports whether the mode of a file or a folder gives other users any right.
func OpenToOthers(mode fs.FileMode) bool { return mode&0o077 != 0 }
