module coleo.dev

go 1.26

require github.com/creack/pty v1.1.24
