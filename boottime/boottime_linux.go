package boottime

//platform:linux Sleep of the machine and deadlines = sleep counts (CLOCK_BOOTTIME)

import "golang.org/x/sys/unix"

const clock = unix.CLOCK_BOOTTIME
