package document

import (
	"bytes"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/canonical"
)

// MergeMembers returns object with the members of patch, and whether that changes anything.
// Either may be nil, an empty object. A null in patch removes the member; any other value
// replaces it or is appended, so nested objects are not merged. An equal value in another
// notation is not a change. Both texts must be objects that passed [Check]; otherwise it panics.
func MergeMembers(object, patch api.JSON) (merged api.JSON, changed bool) {
	members := membersOf(object)
	places := make(map[string]int, len(members))
	for place, existing := range members {
		places[existing.Text()] = place
	}
	for _, given := range membersOf(patch) {
		place, there := places[given.Text()]
		switch null := Kind(given.Value) == 'n'; {
		case there && null:
			members[place].Value, changed = nil, true
		case there && !sameValue(members[place].Value, given.Value):
			members[place].Value, changed = given.Value, true
		case !there && !null:
			members, changed = append(members, given), true
		}
	}
	var kept []canonical.Member
	for _, existing := range members {
		if existing.Value != nil {
			kept = append(kept, canonical.Member{Name: Encode(existing.Text()), Value: existing.Value})
		}
	}
	return canonical.Join(kept), changed
}

func appendName(text api.JSON, name string) api.JSON {
	return append(append(text, Encode(name)...), ':')
}

// membersOf returns the members of an object in their order, and none for nil. The text has
// passed [Check].
func membersOf(object api.JSON) []canonical.Member {
	if object == nil {
		return nil
	}
	members, err := canonical.Members(object)
	if err != nil {
		panic("runs: metadata is not an object: " + err.Error())
	}
	return members
}

// sameValue reports whether two values have the same RFC 8785 form.
func sameValue(a, b api.JSON) bool {
	first, errA := Canonical(a)
	second, errB := Canonical(b)
	return errA == nil && errB == nil && bytes.Equal(first, second)
}
