package kit

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Edits are the members with which other contracts replace the input of an allowed call. A contract
// without edits refuses them with an allow: ignored, they would allow the input as it was.
type Edits struct {
	UpdatedInput       api.JSON `json:"updated_input"`
	UpdatedInputCamel  api.JSON `json:"updatedInput"`
	OverrideInput      api.JSON `json:"override_input"`
	OverrideInputCamel api.JSON `json:"overrideInput"`
}

// TextNoEdit refuses an edit. The name of the member comes before it.
const TextNoEdit = "this contract has no edit, so nothing was allowed; decide in the inbox or with /v1"

// Given returns the name of the first member that is not null, "" for none.
func (e *Edits) Given() string {
	for _, one := range []struct {
		name  string
		value api.JSON
	}{
		{"updated_input", e.UpdatedInput},
		{"updatedInput", e.UpdatedInputCamel},
		{"override_input", e.OverrideInput},
		{"overrideInput", e.OverrideInputCamel},
	} {
		if one.value != nil && document.Kind(one.value) != 'n' {
			return one.name
		}
	}
	return ""
}
