// Package checked says whether the input and the answer of a prompt fit their JSON Schemas,
// and what a model is told if its answer does not fit. Its functions are pure. Package host
// calls them, stores the results and sends the prompts.
package checked
