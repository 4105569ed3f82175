package console

import (
	"fmt"
	"slices"
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

// shownOption is [OptionOf] for options that are shown with numbers. A number that names another option finds
// none; written as it is shown, 1), it is only a number.
func shownOption(question *api.UserQuestion, name string) (id string, found bool) {
	if number, bracketed := strings.CutSuffix(name, ")"); bracketed {
		if id, found := numbered(question, number); found {
			return id, true
		}
	}
	if isTwoOptions(question, name) {
		return "", false
	}
	return OptionOf(question, name)
}

// noShownOption says why [shownOption] finds no option.
func noShownOption(question *api.UserQuestion, name string) string {
	if isTwoOptions(question, name) {
		return fmt.Sprintf("%s is the number of one option and the name of another: type %s) for the number, or choose by another name", name, name)
	}
	return NoOption(question, name)
}

// isTwoOptions reports whether a name is the number of one option and the id or label of another.
func isTwoOptions(question *api.UserQuestion, name string) bool {
	byNumber, isNumber := numbered(question, name)
	named := optionsNamed(question, name)
	return isNumber && len(named) > 0 && !slices.Contains(named, byNumber)
}

// numbered returns the option that is shown with a number.
func numbered(question *api.UserQuestion, number string) (id string, found bool) {
	place, err := strconv.Atoi(number)
	if err != nil || strconv.Itoa(place) != number || place < 1 || place > len(question.Options) {
		return "", false
	}
	return question.Options[place-1].ID, true
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
