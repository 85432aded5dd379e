package wire

import "coleo.dev"

// Modes is the reply to a request for an arm's modes.
type Modes struct {
	Mode string       `json:"mode,omitempty" doc:"Id of the mode that was seen last; empty if none was seen"`
	List []coleo.Mode `json:"modes" doc:"All modes of the agent CLI, in the order of the harness"`
}

// Models is the reply to a request for models. It contains the models of the catalogue, the models
// that arms use, and the logins.
type Models struct {
	// Models is empty if no agent CLI of any host has a catalogue.
	Models  []Model       `json:"models" doc:"The models of the catalogue, and other models that arms use"`
	Logins  []coleo.Login `json:"logins" doc:"Where a key or a login is present; never a value"`
	Missing string        `json:"missing,omitempty" doc:"Why there is no catalogue"`
}

// Model is a model that an arm can have.
type Model struct {
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model"`
	Name      string `json:"name,omitempty"`
	Connected bool   `json:"connected" doc:"By the catalogue, its provider can be used: it has a key or free models"`
	// Harnesses is empty if no harness lists the model. Coleo then knows the model only from arms that have used it.
	Harnesses []string `json:"harnesses,omitempty" doc:"Harnesses that list the model"`
	// Price is missing if nobody knows the price.
	Price *coleo.Price `json:"price,omitempty" doc:"In US dollars per million tokens, with its source"`
	Uses  int          `json:"uses" doc:"How many arms have this model now"`
}
