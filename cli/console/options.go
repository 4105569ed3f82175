package console

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// OptionOf finds an option by its id, its label, or its position. An id wins over a label, and a label over a
// position. A name of several options finds none.
func OptionOf(question *api.UserQuestion, name string) (id string, found bool) {
	if named := optionsNamed(question, name); len(named) > 0 {
		return named[0], len(named) == 1
	}
	if place, err := strconv.Atoi(name); err == nil && place >= 1 && place <= len(question.Options) {
		return question.Options[place-1].ID, true
	}
	return "", false
}

// NoOption says why [OptionOf] finds no option.
func NoOption(question *api.UserQuestion, name string) string {
	if named := optionsNamed(question, name); len(named) > 1 {
		return fmt.Sprintf("%q names %d options: choose by id, %s", name, len(named), strings.Join(named, " or "))
	}
	return fmt.Sprintf("%q is none of the options", name)
}

// optionsNamed returns the ids of the options with an id or, failing that, a label. Case counts only where it must.
func optionsNamed(question *api.UserQuestion, name string) (ids []string) {
	for _, same := range []func(api.QuestionOption) bool{
		func(o api.QuestionOption) bool { return o.ID == name },
		func(o api.QuestionOption) bool { return strings.EqualFold(o.ID, name) },
		func(o api.QuestionOption) bool { return o.Label == name },
		func(o api.QuestionOption) bool { return strings.EqualFold(o.Label, name) },
	} {
		for _, option := range question.Options {
			if same(option) {
				ids = append(ids, option.ID)
			}
		}
		if len(ids) > 0 {
			break
		}
	}
	return ids
}
