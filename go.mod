module coleo.dev

go 1.26
