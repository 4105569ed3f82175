package document

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
)

// member is a member of an object. A nil value means that it was removed.
type member struct {
	name  string
	value api.JSON
}

// MergeMembers returns object with the members of patch, and whether that changes anything.
// Either may be nil, an empty object. A null in patch removes the member; any other value
// replaces it or is appended, so nested objects are not merged. An equal value in another
// notation is not a change. Both texts must be objects that passed [Check]; otherwise it panics.
func MergeMembers(object, patch api.JSON) (merged api.JSON, changed bool) {
	members := membersOf(object)
	places := make(map[string]int, len(members))
	for place, existing := range members {
		places[existing.name] = place
	}
	for _, given := range membersOf(patch) {
		place, there := places[given.name]
		switch null := Kind(given.value) == 'n'; {
		case there && null:
			members[place].value, changed = nil, true
		case there && !sameValue(members[place].value, given.value):
			members[place].value, changed = given.value, true
		case !there && !null:
			members, changed = append(members, given), true
		}
	}
	merged = api.JSON{'{'}
	for _, existing := range members {
		if existing.value == nil {
			continue
		}
		if len(merged) > 1 {
			merged = append(merged, ',')
		}
		merged = appendName(merged, existing.name)
		merged = append(merged, existing.value...)
	}
	return append(merged, '}'), changed
}

func appendName(text api.JSON, name string) api.JSON {
	return append(append(text, Encode(name)...), ':')
}

// membersOf returns the members of an object in their order, and none for nil. The text has
// passed [Check].
func membersOf(object api.JSON) []member {
	if object == nil {
		return nil
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	token := func() string {
		token, err := decoder.ReadToken()
		if err != nil {
			panic("runs: metadata is not an object: " + err.Error())
		}
		return token.String()
	}
	token()
	var members []member
	for decoder.PeekKind() == '"' {
		name := token()
		value, err := decoder.ReadValue()
		if err != nil {
			panic("runs: metadata is not an object: " + err.Error())
		}
		members = append(members, member{name, api.JSON(value.Clone())})
	}
	return members
}

// sameValue reports whether two values have the same RFC 8785 form.
func sameValue(a, b api.JSON) bool {
	first, errA := Canonical(a)
	second, errB := Canonical(b)
	return errA == nil && errB == nil && bytes.Equal(first, second)
}
