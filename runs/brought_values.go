package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// smallValueBytes is the size up to which values are encoded under the lock, when they are needed.
const smallValueBytes = 512

// broughtValues holds the encoded forms of a command's large values, computed before any lock.
// Keyed by the address of the text, so a replaced (masked) value misses.
type broughtValues struct {
	values  map[*byte]document.Value
	answers map[*api.UserQuestionAnswer]document.Value
}

func (b *broughtValues) bring(values ...api.JSON) error {
	for _, value := range values {
		if len(value) <= smallValueBytes {
			continue
		}
		form, err := document.ValueOf(value)
		if err != nil {
			return noCanonicalForm()
		}
		if b.values == nil {
			b.values = map[*byte]document.Value{}
		}
		b.values[&value[0]] = form
	}
	return nil
}

func (b *broughtValues) bringAnswers(answers []api.UserQuestionAnswer) error {
	size := 0
	for i := range answers {
		size += len(answers[i].QuestionID) + len(answers[i].FreeformAnswer)
		for _, chosen := range answers[i].SelectedOptionIDs {
			size += len(chosen)
		}
	}
	if size <= smallValueBytes {
		return nil
	}
	form, err := document.ValueOf(answers)
	if err != nil {
		return noCanonicalForm()
	}
	if b.answers == nil {
		b.answers = map[*api.UserQuestionAnswer]document.Value{}
	}
	b.answers[&answers[0]] = form
	return nil
}

// formOf encodes a resolution and reuses the forms of large values.
func (b *broughtValues) formOf(resolution *api.Resolution) document.Value {
	rest, known := *resolution, document.Object{}
	if len(b.values) > 0 {
		for _, member := range []struct {
			name  string
			value *api.JSON
		}{{"updated_input", &rest.UpdatedInput}, {"value", &rest.Value}, {"runtime_payload", &rest.RuntimePayload}} {
			if len(*member.value) <= smallValueBytes {
				continue
			}
			if form, found := b.values[&(*member.value)[0]]; found {
				known, *member.value = known.With(member.name, form), nil
			}
		}
	}
	if len(b.answers) > 0 && len(rest.Answers) > 0 {
		if form, found := b.answers[&rest.Answers[0]]; found {
			known, rest.Answers = known.With("answers", form), nil
		}
	}
	if len(known) == 0 {
		return document.OwnValue(rest)
	}
	return document.OwnObject(rest).And(known).Value()
}
