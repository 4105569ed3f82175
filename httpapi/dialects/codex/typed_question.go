package codex

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/document"
)

// typedQuestionID is the id of the question that represents a typed request without an id in its
// payload.
const typedQuestionID = "value"

// typedQuestion is a question for one value of a JSON Schema, in a form for people.
type typedQuestion struct {
	id, header, question string
	choices              []choice
	schema               api.JSON
}

// choice is a value with a label, and an id unless it has none.
type choice struct {
	label, id, description string
	value                  api.JSON
}

// typedQuestionOf reads a typed question from its payload, schema and kind. The choices come from
// the payload, otherwise from the schema's enum.
func typedQuestionOf(request *api.UserQuestionRequest) typedQuestion {
	payload, schema := request.Payload, request.ResponseSchema
	asked := typedQuestion{
		id:     cmp.Or(kit.Text(kit.Get(payload, "id")), typedQuestionID),
		header: cmp.Or(kit.Text(kit.Get(payload, "header")), kit.Text(kit.Get(schema, "title")), request.Kind),
		question: cmp.Or(kit.Text(kit.Get(payload, "question")), kit.Text(payload), kit.Text(kit.Get(schema, "description")),
			kit.Text(kit.Get(schema, "title")), request.Kind),
		schema: schema,
	}
	named := kit.EnumOf(schema)
	for _, option := range kit.Elements(kit.Get(payload, "options")) {
		if found, ok := choiceOf(option, named); ok {
			asked.choices = append(asked.choices, found)
		}
	}
	if asked.choices != nil {
		return asked
	}
	for _, value := range kit.Elements(kit.Get(schema, "enum")) {
		asked.choices = append(asked.choices, choice{label: kit.Label(value), value: value})
	}
	return asked
}

// choiceOf reads an option of a payload: a value, or {label, description?, value?, id?} (see
// [kit.Enum.ValueOf]). An option without a label is ignored.
func choiceOf(option api.JSON, named kit.Enum) (choice, bool) {
	if document.Kind(option) != '{' {
		return choice{label: kit.Label(option), value: option}, true
	}
	found := choice{
		label: kit.Text(kit.Get(option, "label")), id: kit.Text(kit.Get(option, "id")),
		description: kit.Text(kit.Get(option, "description")), value: named.ValueOf(option),
	}
	return found, found.label != ""
}

func (t *typedQuestion) shown(request *api.UserQuestionRequest) Question {
	shown := Question{
		ID: t.id, Header: t.header, Question: t.question,
		IsOther:  flagged(request.Metadata, t.id, "isOther") || len(t.choices) > kit.MaxChoices,
		IsSecret: secret(request, t.id, false),
	}
	choices := t.choices[:min(len(t.choices), kit.MaxChoices)]
	options := make([]Option, len(choices))
	for i, found := range choices {
		options[i] = Option{Label: found.label, Description: found.description}
	}
	shown.offer(options)
	return shown
}

// value converts texts to a value: the choice with that label or, failing that, id, or the text converted to
// the schema's type. The domain checks the value against the schema. fault says why the texts are not one
// value; it is empty if they are.
func (t *typedQuestion) value(given []string) (value api.JSON, fault string) {
	choices := t.byName()
	for _, text := range given {
		if choices[text].ambiguous {
			return nil, textAmbiguous
		}
	}
	types := typesOf(t.schema)
	if len(given) == 1 {
		found, ok := choices[given[0]]
		switch {
		case ok && (!types["array"] || t.whole(found.value, types)):
			return found.value, ""
		case !ok && (!types["array"] || readable(given[0], types) != nil):
			return convert(given[0], types), ""
		}
	} else if !types["array"] {
		return nil, "Must hold one text"
	}
	list := make([]api.JSON, len(given))
	items := typesOf(kit.Get(t.schema, "items"))
	for i, text := range given {
		if found, ok := choices[text]; ok {
			list[i] = found.value
		} else {
			list[i] = convert(text, items)
		}
	}
	return kit.Encode(list), ""
}

// whole reports whether a choice's value is the answer to a schema that takes a list, and not one of its
// elements. A list that may be either is the answer only if the schema lists it.
func (t *typedQuestion) whole(value api.JSON, types map[string]bool) bool {
	if document.Kind(value) != '[' || !typesOf(kit.Get(t.schema, "items"))["array"] {
		return isOf(value, types)
	}
	return slices.ContainsFunc(kit.Elements(kit.Get(t.schema, "enum")), func(one api.JSON) bool { return kit.KeyOf(one) == kit.KeyOf(value) })
}

// chosen is what a label or an id stands for.
type chosen struct {
	value api.JSON
	// ambiguous: choices with different values have the label, or the id.
	ambiguous bool
}

// byName returns what each label stands for, and each id that is not a label too. An id that stands for itself is not
// in it, unless the schema takes texts: it is converted to the schema's type. Callers control the number of choices and of look-ups, so each choice
// is read once, whatever the number of look-ups.
func (t *typedQuestion) byName() map[string]chosen {
	labels, ids := make(map[string]chosen, len(t.choices)), map[string]chosen{}
	for _, found := range t.choices {
		keepName(labels, found.label, found.value)
		if found.id != "" {
			keepName(ids, found.id, found.value)
		}
	}
	takesText := typesOf(t.schema)["string"]
	for id, found := range ids {
		itself := !takesText && !found.ambiguous && kit.KeyOf(found.value) == kit.KeyOf(kit.Encode(id))
		if _, known := labels[id]; !known && !itself {
			labels[id] = found
		}
	}
	return labels
}

func keepName(names map[string]chosen, name string, value api.JSON) {
	first, known := names[name]
	switch {
	case !known:
		names[name] = chosen{value: value}
	case !first.ambiguous && kit.Compact(first.value) != kit.Compact(value):
		names[name] = chosen{ambiguous: true}
	}
}

// typesOf returns the types in a schema.
func typesOf(schema api.JSON) map[string]bool {
	types := map[string]bool{}
	named := kit.Get(schema, "type")
	if found := kit.Text(named); found != "" {
		types[found] = true
	}
	for _, found := range kit.Elements(named) {
		types[kit.Text(found)] = true
	}
	return types
}

// convert converts a text to a value of one of the types. If none fits it stays a string, which the
// domain may refuse.
func convert(given string, types map[string]bool) api.JSON {
	if value := readable(given, types); value != nil {
		return value
	}
	return kit.Encode(given)
}

// readable parses a text as JSON of one of the types other than string. When a string is allowed, a
// text that could be a number stays a string.
func readable(given string, types map[string]bool) api.JSON {
	value := api.JSON(bytes.TrimSpace([]byte(given)))
	if types["string"] || document.Check(value) != nil || !isOf(value, types) {
		return nil
	}
	return value
}

// isOf reports whether a value is of one of the types of a schema.
func isOf(value api.JSON, types map[string]bool) bool {
	switch document.Kind(value) {
	case '"':
		return types["string"]
	case '0':
		_, err := strconv.ParseFloat(string(value), 64)
		return err == nil && (types["number"] || types["integer"])
	case 't', 'f':
		return types["boolean"]
	case 'n':
		return types["null"]
	case '{':
		return types["object"]
	case '[':
		return types["array"]
	}
	return false
}
