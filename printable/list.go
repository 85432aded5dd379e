package printable

import "strings"

// List joins words for a person: "a, b and c". For an empty list it returns "nothing".
func List[T ~string](words []T) string {
	if len(words) == 0 {
		return "nothing"
	}
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}
