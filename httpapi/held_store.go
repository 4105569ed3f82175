package httpapi

import (
	"context"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

// heldStore holds every command that a face gives to what its caller may do, whatever the route
// was: a decision may write a rule, and a call that starts a run may decide. What has no caller
// is the service's own.
type heldStore struct{ runs.Store }

// Do implements [runs.Door]. Errors: forbidden, and those of the store.
func (s heldStore) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if caller := auth.From(ctx); caller != nil {
		for _, action := range runs.Demands(command) {
			if err := caller.Check(action); err != nil {
				return runs.Reply{}, err
			}
		}
	}
	return s.Store.Do(ctx, command)
}
