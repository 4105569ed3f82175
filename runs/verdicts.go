package runs

import (
	"errors"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// ErrUnchecked is the error of a decision that meets a value of the caller which
// CheckValues has not checked, because its request was raised since. Call CheckValues
// and decide again. No caller of a Door ever gets it.
var ErrUnchecked = errors.New("a value was not checked against the schema of its request")

// valueVerdicts are the faults of a caller's values against the schemas of their
// requests, by the request's handle. A request never changes what it asks, so a verdict
// stays true. Nil means that nobody has checked anything: then a decision checks by
// itself, which is for tests without a store.
type valueVerdicts map[string][]api.Fault

// matcher returns the check of the value for one request: the verdict when there is one.
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
