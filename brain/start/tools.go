package start

import (
	"coleo.dev"
	"coleo.dev/wire"
)

// configureTools sets the tools of an arm. If the request does not mention tools, an existing arm
// keeps its tools. A new arm gets the tools of config.toml, if its harness supports MCP.
func (r Rules) configureTools(c *coleo.SpawnConfig, q wire.SpawnRequest, harness string, known bool) error {
	switch {
	case q.NoTools && len(q.Tools) > 0:
		return coleo.Errorf(coleo.EInvalid, "tools and noTools contradict each other: give one of them")
	case q.NoTools:
		c.Tools = nil
	case len(q.Tools) > 0:
		c.Tools = q.Tools
		if len(q.Tools) == 1 && q.Tools[0] == "all" {
			c.Tools = coleo.ArmTools()
		}
	case !known && r.Defaults.Tools:
		h, err := r.Harnesses.Get(harness)
		if err != nil {
			return err
		}
		if h.Info().Capabilities.MCP {
			c.Tools = coleo.ArmTools()
		}
	}
	return coleo.CheckTools(c.Tools)
}
