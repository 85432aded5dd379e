// Package checked checks the input and the answer of a prompt against their JSON Schemas. If an
// answer does not fit, the package also writes the prompt that asks the model again. Its functions
// are pure. Package host calls them, stores the results and sends the prompts.
package checked
