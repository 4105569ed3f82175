package timbal

import (
	"bytes"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/document"
)

// call is the body of POST /stream and POST /run (contracts/timbal.md 4.4).
type call struct {
	// params are the members that are the runnable's, as an object.
	params api.JSON
	// runID is the id that the caller wants the run to have; empty when it has no wish.
	runID string
	// parentID is the run that this one goes on from.
	parentID string
	// resumes says that there is a resume map; it may be empty.
	resumes bool
	resume  []entry
}

// entry is one answer of a resume map.
type entry struct {
	id    string
	value api.JSON
}

// readCall reads a body. A member that is null is as if it was not there.
func (f *face) readCall(w http.ResponseWriter, r *http.Request) (*call, error) {
	var text api.JSON
	if err := wire.Decode(w, r, f.MaxBodyBytes, &text); err != nil {
		return nil, err
	}
	if document.Kind(text) != '{' {
		return nil, unprocessable("the body must be an object")
	}
	given := &call{}
	var context, resume api.JSON
	var own []entry
	var parent api.JSON
	for _, member := range membersOf(text) {
		switch member.id {
		case "context", "run_context":
			if document.Kind(member.value) != 'n' {
				context = member.value
			}
		case "parent_id":
			parent = member.value
		case "resume":
			resume = member.value
		default:
			own = append(own, member)
		}
	}
	given.params = objectOf(own)
	if context != nil {
		// The parent is the one of the context then, or none (4.4, 2).
		parent = nil
		if document.Kind(context) != '{' {
			return nil, unprocessable("context must be an object")
		}
		for _, member := range membersOf(context) {
			switch member.id {
			case "parent_id":
				parent = member.value
			case "id":
				if err := readText("context.id", member.value, &given.runID); err != nil {
					return nil, err
				}
			}
		}
	}
	if err := readText("parent_id", parent, &given.parentID); err != nil {
		return nil, err
	}
	return given, given.readResume(resume)
}

func (c *call) readResume(resume api.JSON) error {
	if resume == nil || document.Kind(resume) == 'n' {
		return nil
	}
	if document.Kind(resume) != '{' {
		return unprocessable("resume must be an object that maps ids to values")
	}
	c.resumes, c.resume = true, membersOf(resume)
	if len(c.resume) > api.MaxResolutionsPerBatch {
		return unprocessable("resume must have at most %d entries", api.MaxResolutionsPerBatch)
	}
	return nil
}

// readText reads an optional text.
func readText(name string, value api.JSON, into *string) error {
	if value == nil || document.Kind(value) == 'n' {
		return nil
	}
	if json.Unmarshal(value, into) != nil {
		return unprocessable("%s must be a text", name)
	}
	return nil
}

// membersOf returns the members of an object in their order. The text has been checked
// to be JSON.
func membersOf(object api.JSON) []entry {
	decoder := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var members []entry
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return nil
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return members
		}
		id := name.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return members
		}
		members = append(members, entry{id, api.JSON(value.Clone())})
	}
	return members
}

// objectOf is the reverse of membersOf.
func objectOf(members []entry) api.JSON {
	text := api.JSON("{")
	for i, member := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, member.id) // it was read as UTF-8
		text = append(append(text, ':'), member.value...)
	}
	return append(text, '}')
}
