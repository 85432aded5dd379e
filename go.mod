module coleo.dev

go 1.26.0

require (
	github.com/creack/pty v1.1.24
	github.com/pelletier/go-toml/v2 v2.4.3
	golang.org/x/sys v0.49.0
)
