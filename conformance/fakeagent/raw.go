package fakeagent

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// makeRaw puts the terminal f into raw mode. In this mode, the terminal does not change
// its input and output. The returned function restores the old mode.
func makeRaw(f *os.File) (restore func(), err error) {
	var old syscall.Termios
	if err := ioctl(f, getTermios, unsafe.Pointer(&old)); err != nil {
		return nil, err
	}
	raw := old
	raw.Iflag &^= syscall.IGNBRK | syscall.BRKINT | syscall.PARMRK | syscall.ISTRIP |
		syscall.INLCR | syscall.IGNCR | syscall.ICRNL | syscall.IXON
	raw.Oflag &^= syscall.OPOST
	raw.Lflag &^= syscall.ECHO | syscall.ECHONL | syscall.ICANON | syscall.ISIG | syscall.IEXTEN
	raw.Cflag = raw.Cflag&^(syscall.CSIZE|syscall.PARENB) | syscall.CS8
	raw.Cc[syscall.VMIN], raw.Cc[syscall.VTIME] = 1, 0
	if err := ioctl(f, setTermios, unsafe.Pointer(&raw)); err != nil {
		return nil, err
	}
	// ignore an error, because the terminal may already be closed
	return func() { _ = ioctl(f, setTermios, unsafe.Pointer(&old)) }, nil
}

// defaultCols and defaultRows are the size of the fake's screen, in cells, if the terminal reports
// no size.
const (
	defaultCols = 80
	defaultRows = 24
)

// size returns the terminal's size in cells.
func size(f *os.File) (cols, rows int) {
	var ws struct{ row, col, xpixel, ypixel uint16 }
	if ioctl(f, syscall.TIOCGWINSZ, unsafe.Pointer(&ws)) != nil || ws.col < 10 || ws.row < 5 {
		return defaultCols, defaultRows
	}
	return int(ws.col), int(ws.row)
}

// ioctl makes an ioctl call on f. It does not use f.Fd, because Fd puts the file into
// blocking mode.
func ioctl(f *os.File, request uintptr, arg unsafe.Pointer) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg))
	})
	if err == nil && failed != 0 {
		return fmt.Errorf("ioctl %s: %w", f.Name(), failed)
	}
	return err
}
