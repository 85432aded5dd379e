package proxy

import (
	"encoding/json"
	"fmt"
	"os"
)

// Config is the configuration that the proxy of a sandbox reads from a file.
type Config struct {
	Rules
	Log string `json:"log"` // path of the file for the decisions
}

// Write writes the configuration into a file.
func (c Config) Write(path string) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("write the rules of the sandbox's network: %w", err)
	}
	return nil
}

// ReadConfig reads a configuration from a file that Write has written.
func ReadConfig(path string) (Config, error) {
	var c Config
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read the rules of the sandbox's network: %w", err)
	}
	return c, nil
}
