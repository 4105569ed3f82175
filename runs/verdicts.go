package runs

import (
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// ErrUnchecked says that a decision needs a caller's value that CheckValues has not checked,
// because the request was raised since. Call CheckValues and decide again. A Door never returns
// it.
var ErrUnchecked = errors.New("a value was not checked against the schema of its request")

// valueVerdicts are the schema faults of a caller's values, keyed by request handle. A verdict
// stays valid, because a request never changes its schema. Nil means that nothing was checked:
// the decision then checks the values itself, as in tests without a store.
type valueVerdicts map[string][]api.Fault

// matcher returns the check of a value for one request. It looks up the verdict, or checks the
// schema if v is nil.
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
