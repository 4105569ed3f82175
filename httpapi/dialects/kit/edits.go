package kit

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Edits are the members of a body that a contract does not name. In other contracts some of them replace
// the input of an allowed call. A contract without edits refuses those with an allow, in any spelling:
// ignored, they would allow the input as it was.
type Edits struct {
	Unnamed map[string]api.JSON `json:",embed"`
}

// TextNoEdit refuses an edit. The name of the member comes before it.
const TextNoEdit = "this contract has no edit, so nothing was allowed; decide in the inbox or with /v1"

// Given returns the name of the first edit that is not null, "" for none.
func (e *Edits) Given() string {
	for _, name := range slices.Sorted(maps.Keys(e.Unnamed)) {
		if isEdit(name) && document.Kind(e.Unnamed[name]) != 'n' {
			return name
		}
	}
	return ""
}

// The name of an edit says that something is replaced, and that it is the input.
var (
	changes = []string{"updat", "overrid", "edit", "modif", "chang", "replac", "amend", "patch", "new"}
	inputs  = []string{"input", "arg", "param", "command", "payload"}
)

// isEdit reports whether a member is named like one that replaces the input.
func isEdit(name string) bool {
	name = strings.ToLower(name)
	has := func(parts []string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
	}
	bare := strings.TrimSuffix(name, "s")
	return has(changes) && has(inputs) || bare == "edit" || bare == "edited" || bare == "override"
}
