package timbal

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/document"
)

// call is the body of POST /stream and POST /run (docs/spec/timbal.md#start and
// docs/spec/timbal.md#resume).
type call struct {
	// params are the members for the runnable, as an object.
	params api.JSON
	// runID is the id that the caller chose for the run; empty for none.
	runID string
	// parentID is the run that this one continues.
	parentID string
	// resumes says that there is a resume map, which may be empty.
	resumes bool
	resume  kit.Object
}

// readCall reads a body. A null member counts as absent. When there is a context, only its parent
// counts.
func (f *face) readCall(w http.ResponseWriter, r *http.Request) (*call, error) {
	var text api.JSON
	if err := wire.Decode(w, r, f.MaxBodyBytes, &text); err != nil {
		return nil, err
	}
	if document.Kind(text) != '{' {
		return nil, unprocessable("the body must be an object")
	}
	given := &call{}
	var context, parent, resume api.JSON
	var params kit.Object
	for name, value := range kit.Members(text) {
		switch name {
		case "context", "run_context":
			if document.Kind(value) == 'n' {
				continue
			}
			if context != nil {
				return nil, unprocessable("context and run_context must not both be given")
			}
			context = value
		case "parent_id":
			parent = value
		case "resume":
			resume = value
		default:
			params = append(params, kit.MemberOf(name, value))
		}
	}
	given.params = encodeRaw(params)
	if context != nil {
		if document.Kind(context) != '{' {
			return nil, unprocessable("context must be an object")
		}
		parent = kit.Get(context, "parent_id")
		if err := readText("context.id", kit.Get(context, "id"), &given.runID); err != nil {
			return nil, err
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
	c.resumes, c.resume = true, kit.ObjectOf(resume)
	if len(c.resume) > api.MaxResolutionsPerBatch {
		return unprocessable("resume must have at most %d entries", api.MaxResolutionsPerBatch)
	}
	return nil
}

// readText reads an optional string. Errors: 422 for any other value.
func readText(name string, value api.JSON, into *string) error {
	if value == nil || document.Kind(value) == 'n' {
		return nil
	}
	if json.Unmarshal(value, into) != nil {
		return unprocessable("%s must be a text", name)
	}
	return nil
}

// encodeRaw encodes an object without changing its strings.
func encodeRaw(object kit.Object) api.JSON { return object.JSON(jsontext.PreserveRawStrings(true)) }
