package runs

import (
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// ErrUnchecked says that a decision met a caller's value that CheckValues has not checked,
// because the request was raised since. Call CheckValues and decide again. A Door never returns
// it.
var ErrUnchecked = errors.New("a value was not checked against the schema of its request")

// valueVerdicts are the faults of a caller's values against the schemas of their requests, by
// the handle of the request. A verdict stays valid, because a request never changes its schema.
// Nil means that nothing was checked: then the decision checks by itself, as in tests without a
// store.
type valueVerdicts map[string][]api.Fault

// matcher returns the check of a value for one request. It only looks the verdict up, unless v
// is nil.
func (v valueVerdicts) matcher(handle string) schemaMatch {
	return func(schema, value api.JSON, pointer string) ([]api.Fault, error) {
		if v == nil {
			return document.MatchSchema(schema, value, pointer), nil
		}
		faults, checked := v[handle]
		if !checked {
			return nil, ErrUnchecked
		}
		return faults, nil
	}
}
