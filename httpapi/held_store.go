package httpapi

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

// heldStore holds every command that a face gives to what its caller may do, whatever the route
// was: a decision may write a rule, and a call that starts a run may decide. What has no caller
// is the service's own.
type heldStore struct{ runs.Store }

// atTheDoor are the actions for which it is enough that the token worked when the call came in.
var atTheDoor = []auth.Action{auth.Known, auth.Read, auth.Work, auth.Chat}

// Do implements [runs.Door]. What settles, cancels, writes a rule or repairs is decided only if the
// token works at that moment; that of a worker's call was read within half a second. Errors: forbidden,
// invalid_token, and those of the store.
func (s heldStore) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	caller := auth.From(ctx)
	if caller == nil {
		return s.Store.Do(ctx, command)
	}
	again := false
	for _, action := range runs.Demands(command) {
		if err := caller.Check(action); err != nil {
			return runs.Reply{}, err
		}
		again = again || !slices.Contains(atTheDoor, action)
	}
	if create, ok := command.(*runs.CreateRun); ok {
		create.Principal = caller.Principal
	}
	if again {
		command = runs.Authorized(command, caller)
	}
	return s.Store.Do(ctx, command)
}
