package start

import (
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/wire"
)

// checkScripted returns an error if the options of a request do not fit the scripted model. A
// request for the scripted model must name neither a provider nor an endpoint. checkScripted then
// clears both in the configuration, because they came from the stopped arm or from the defaults.
func (r Rules) checkScripted(harness string, c *coleo.SpawnConfig, q wire.SpawnRequest) error {
	if q.Model == coleo.ModelScripted && q.Provider == "" && q.Endpoint == "" {
		c.Provider, c.Endpoint = "", ""
	}
	if !c.Scripted() {
		if q.Script != "" {
			return coleo.Errorf(coleo.EInvalid,
				"a script works only with the scripted model: add --model %s", coleo.ModelScripted)
		}
		return nil
	}
	h, err := r.Harnesses.Get(harness)
	if err != nil {
		return err
	}
	switch info := h.Info(); {
	case info.NoModel:
		return coleo.Errorf(coleo.EUnsupported, "the harness %s uses no model: leave out --model %s",
			harness, coleo.ModelScripted)
	case info.Transport == coleo.TransportHTTP:
		return coleo.Errorf(coleo.EUnsupported,
			"the harness %s uses HTTP, which cannot reach an arm with the scripted model: "+
				"choose a harness with a terminal", harness)
	case c.Profile == coleo.ProfileUser || c.Home != "":
		return coleo.Errorf(coleo.EInvalid,
			"an arm with the scripted model has a HOME of its own: leave out --profile user and --home")
	}
	return nil
}

// KnownModel returns EInvalid if the model's name does not have the form that the harness requires.
// With such a name, the agent CLI would end when it starts or when it receives the first prompt.
func KnownModel(i coleo.Info, provider, model string) error {
	if i.ModelPattern == "" || slices.Contains(i.ModelNames, model) {
		return nil
	}
	name := coleo.ModelName(provider, model)
	if ok, err := regexp.MatchString(i.ModelPattern, name); ok || err != nil {
		return err
	}
	return coleo.Errorf(coleo.EInvalid, "%s has no model %q: nothing was done; it has %s, and names that match %s ("+
		"'coleo models list --harness %s'); --endpoint allows any name", i.Title, name, strings.Join(i.ModelNames, ", "),
		i.ModelPattern, i.Name)
}
