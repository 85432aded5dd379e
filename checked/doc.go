// Package checked checks the input and the answer of a prompt against their JSON Schemas.
// It also writes the prompt that asks a model again if its answer does not fit. Its
// functions are pure. Package host calls them, stores the results and sends the prompts.
package checked
