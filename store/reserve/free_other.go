//go:build !linux && !darwin

package reserve

func freeBytes(string) (int64, bool) { return 0, false }
