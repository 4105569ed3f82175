package runs

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxMetadataBytes bounds the metadata of a session that grows by amendments. What a
// session was made with is bounded by the body that brought it.
const MaxMetadataBytes = 64 << 10

// Needs implements Command.
func (c *AmendSession) Needs() Needs { return Needs{SessionID: c.SessionID} }

func (c *AmendSession) prepare(IDSource) error {
	var faults faultList
	switch KindOf(c.Metadata) {
	case '{':
	case 0, 'n':
		faults.add("/metadata", "is required")
	default:
		faults.add("/metadata", "must be an object")
	}
	if len(c.Metadata) > MaxMetadataBytes {
		faults.add("/metadata", "must have at most %d bytes", MaxMetadataBytes)
	}
	return faults.err()
}

func (c *AmendSession) decide(w *work) (Reply, error) {
	if w.session == nil {
		return Reply{}, UnknownSession(c.SessionID)
	}
	merged, changed := mergeMembers(w.session.Metadata, c.Metadata)
	if !changed {
		return Reply{Session: w.session, Existing: true}, nil
	}
	if len(merged) > MaxMetadataBytes && len(merged) > len(w.session.Metadata) {
		return Reply{}, invalid(Fault{Pointer: "/metadata", Detail: "the session's metadata would be too large"})
	}
	w.session.Metadata = merged
	w.saveSession()
	return Reply{Session: w.session}, nil
}

// member is one member of an object; its value is nil when it was taken out.
type member struct {
	name  string
	value JSON
}

// mergeMembers returns an object, which may be absent, with the members of the other
// one in it, and whether that changes anything. A member that is null there is taken
// out; any other goes whole into the place of the one of its name, or to the end.
func mergeMembers(object, patch JSON) (merged JSON, changed bool) {
	members := membersOf(object)
	places := make(map[string]int, len(members))
	for place, one := range members {
		places[one.name] = place
	}
	for _, given := range membersOf(patch) {
		place, there := places[given.name]
		switch null := KindOf(given.value) == 'n'; {
		case there && null:
			members[place].value, changed = nil, true
		case there && !sameValue(members[place].value, given.value):
			members[place].value, changed = given.value, true
		case !there && !null:
			members, changed = append(members, given), true
		}
	}
	merged = JSON{'{'}
	for _, one := range members {
		if one.value == nil {
			continue
		}
		if len(merged) > 1 {
			merged = append(merged, ',')
		}
		merged = appendName(merged, one.name)
		merged = append(merged, one.value...)
	}
	return append(merged, '}'), changed
}

func appendName(text JSON, name string) JSON {
	return append(append(text, encode(name)...), ':')
}

// membersOf returns the members of an object in their order; none of one that is
// absent. The text has passed CheckJSON.
func membersOf(object JSON) []member {
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
		members = append(members, member{name, JSON(value.Clone())})
	}
	return members
}

// sameValue reports whether two values mean the same: they have one RFC 8785 form.
func sameValue(a, b JSON) bool {
	first, errA := Canonical(a)
	second, errB := Canonical(b)
	return errA == nil && errB == nil && bytes.Equal(first, second)
}
