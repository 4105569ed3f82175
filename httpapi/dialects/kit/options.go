package kit

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// maxListedItems is the maximum number of items in a comma-separated list of options.
const maxListedItems = 256

// OptionsOf returns the options in a comma-separated list of labels or ids, each once, and nil when
// an item matches none. Labels may contain commas: a list that can be read as different options is
// ambiguous and returns none.
func OptionsOf(question *api.UserQuestion, text string) (ids []string, ambiguous bool) {
	items := strings.Split(text, ",")
	if len(items) > maxListedItems {
		return nil, false
	}
	longest := 0 // of a label, in items
	for _, option := range question.Options {
		longest = max(longest, strings.Count(option.Label, ",")+1, strings.Count(option.ID, ",")+1)
	}
	// readings[n] is one reading of the first n items; several says that there is another.
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
