package kit

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// maxListedItems bounds the texts between the commas of a list of options.
const maxListedItems = 256

// OptionsOf returns the options that a list with commas names by their labels or ids, each once, and nil
// when a part of it names none. Labels may hold commas themselves: when the list can be read as
// different options, it is ambiguous, and names none.
func OptionsOf(question *api.UserQuestion, text string) (ids []string, ambiguous bool) {
	items := strings.Split(text, ",")
	if len(items) > maxListedItems {
		return nil, false
	}
	longest := 0 // label, in items
	for _, option := range question.Options {
		longest = max(longest, strings.Count(option.Label, ",")+1, strings.Count(option.ID, ",")+1)
	}
	// readings[n] is one reading of the first n items; several says that there are others.
	readings := make([][]string, len(items)+1)
	several := make([]bool, len(items)+1)
	readings[0] = []string{}
	for end := 1; end <= len(items); end++ {
		for begin := max(0, end-longest); begin < end; begin++ {
			if readings[begin] == nil {
				continue
			}
			id, matches := OptionOf(question, strings.TrimSpace(strings.Join(items[begin:end], ",")), strings.TrimSpace)
			if matches == 0 {
				continue
			}
			reading := readings[begin]
			if !slices.Contains(reading, id) {
				reading = append(slices.Clone(reading), id)
			}
			several[end] = several[end] || several[begin] || matches > 1 || readings[end] != nil && !sameOptions(readings[end], reading)
			readings[end] = reading
		}
	}
	last := len(items)
	if several[last] {
		return nil, true
	}
	return readings[last], false
}

func sameOptions(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id string) bool { return !slices.Contains(b, id) })
}
