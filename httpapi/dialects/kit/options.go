package kit

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/prompt"
)

// MaxChoices is how many choices of a typed question are shown as options: its worker may list any number, each of a few
// bytes. The others are answered by their text, and are in the question's payload.
const MaxChoices = 1_000

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
	ids, _, ambiguous = prompt.ReadList(items, longest, func(label string) (string, int) { return OptionOf(question, label, strings.TrimSpace) })
	if ambiguous {
		return nil, true
	}
	return ids, false
}
