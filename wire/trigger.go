package wire

import "coleo.dev/trigger"

// TriggerRequest asks for a new schedule or webhook.
type TriggerRequest struct {
	Name     string            `json:"name" minLength:"1" doc:"Name of the new schedule or webhook"`
	Kind     trigger.Kind      `json:"kind" enum:"schedule,webhook" doc:"What starts the arms"`
	Template string            `json:"template" minLength:"1" doc:"Name of a template with a sandbox and a prompt"`
	Workdir  string            `json:"workdir" minLength:"1" doc:"Work folder of the arms, as an absolute path"`
	Args     map[string]string `json:"args,omitempty" doc:"Arguments of the template"`
	MaxArms  int               `json:"maxArms,omitempty" minimum:"0" maximum:"20" doc:"Most live arms; 3 if left out"`
	Cron     string            `json:"cron,omitempty" doc:"Of a schedule: minute, hour, day of month, month, day of week"`
	Zone     string            `json:"zone,omitempty" doc:"Of a schedule: the name of a time zone, such as Europe/Berlin"`
	CatchUp  bool              `json:"catchUp,omitempty" doc:"Of a schedule: one run makes up for all missed runs"`
}

// NewTrigger is a new schedule or webhook. No other answer contains the secret of a webhook.
type NewTrigger struct {
	Trigger trigger.Trigger `json:"trigger"`
	Secret  string          `json:"secret,omitempty" doc:"Signs the requests to a webhook; Coleo does not show it again"`
	On      bool            `json:"on" doc:"Whether triggers are on in config.toml"`
}

// Triggers contains all schedules and webhooks.
type Triggers struct {
	Triggers []trigger.Trigger `json:"triggers"` // sorted by name
	On       bool              `json:"on" doc:"Whether triggers are on in config.toml"`
}
