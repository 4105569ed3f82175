package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// maxAncestors limits how many ancestor sessions are read. Beyond it every principal counts as a requester.
const maxAncestors = 64

// readAncestors handles an ancestorsError in err: it reads the missing requesters and stores them in
// the command. It reports whether err was such an error.
func readAncestors(ctx context.Context, reader ValueReader, command Command, err error) (bool, error) {
	var lacked *ancestorsError
	if !errors.As(err, &lacked) {
		return false, nil
	}
	names, err := requestersAbove(ctx, reader, lacked)
	if err != nil {
		return true, err
	}
	spec := command.Spec()
	if spec.above == nil {
		return true, fmt.Errorf("%s raises and allows nothing", spec.Name)
	}
	*spec.above = &names
	return true, nil
}

// RequesterReader is the part of a store that tells who asked for a request.
type RequesterReader interface {
	// Run and SessionHead are defined by ValueReader.
	Run(ctx context.Context, runID string) (*model.RunRecord, error)
	SessionHead(ctx context.Context, sessionID string) (*model.Session, error)
}

// requestersAbove returns the requesters above a session and a run.
func requestersAbove(ctx context.Context, reader RequesterReader, from *ancestorsError) (requesters, error) {
	lists, err := listsAbove(ctx, reader, from)
	return joined(lists), err
}

// listsAbove walks up from a session's and a run's parents, and returns the requesters of each of them. An ancestor session may
// not exist.
func listsAbove(ctx context.Context, reader RequesterReader, from *ancestorsError) (lists []requesters, err error) {
	sessions, parentRunID := []string{from.parentSessionID}, from.parentRunID
	seen := map[string]bool{"": true}
	for range maxAncestors {
		if refusal.ValidID(parentRunID) && !seen["run "+parentRunID] {
			seen["run "+parentRunID] = true
			record, err := reader.Run(ctx, parentRunID)
			switch {
			case err == nil:
				lists = append(lists, requesters("").with(record.Run.Principal, record.Run.HolderPrincipal))
				sessions, parentRunID = append(sessions, record.Run.SessionID), record.Run.ParentRunID
			case refusal.CodeOf(err) == "":
				return nil, err
			}
		}
		var above []string
		for _, sessionID := range sessions {
			if seen[sessionID] {
				continue
			}
			seen[sessionID] = true
			head, err := reader.SessionHead(ctx, sessionID)
			switch {
			case err == nil:
				lists = append(lists, requesters(head.Requesters))
				above = append(above, head.ParentSessionID)
			case refusal.CodeOf(err) == "":
				return nil, err
			}
		}
		if sessions = above; len(sessions) == 0 && (!refusal.ValidID(parentRunID) || seen["run "+parentRunID]) {
			return lists, nil
		}
	}
	return []requesters{everybody}, nil
}

// CheckRequester returns the requester_excluded error with which the caller's allow of an open approval
// would be refused right now, or nil. It reads outside the lock, so use it only for display: [Decide]
// checks again. The reader must not be limited to the caller's scope.
func CheckRequester(ctx context.Context, reader RequesterReader, request *model.Request, caller *auth.Identity, actor Actor) error {
	check, err := RequesterCheck(ctx, reader, request)
	if err != nil {
		return err
	}
	return check(caller, actor)
}

// RequesterCheck reads the data for [CheckRequester] once, to check several callers.
func RequesterCheck(ctx context.Context, reader RequesterReader, request *model.Request) (check func(caller *auth.Identity, actor Actor) error, err error) {
	if !request.Open() || !ExcludesRequesters(request) {
		return func(*auth.Identity, Actor) error { return nil }, nil
	}
	own, above, err := listsOf(ctx, reader, request)
	if err != nil {
		return nil, err
	}
	asked := own + "\n" + joined(above)
	return func(caller *auth.Identity, actor Actor) error { return asked.exclude(request.RequestID, caller, actor) }, nil
}

// listsOf returns the requesters of a request's own session and run, and those above them.
func listsOf(ctx context.Context, reader RequesterReader, request *model.Request) (own requesters, above []requesters, err error) {
	head, err := reader.SessionHead(ctx, request.SessionID)
	if err != nil {
		return "", nil, err
	}
	record, err := reader.Run(ctx, request.RunID)
	if err != nil {
		return "", nil, err
	}
	above, err = listsAbove(ctx, reader, &ancestorsError{head.ParentSessionID, record.Run.ParentRunID})
	return requesters(head.Requesters).with(record.Run.Principal, record.Run.HolderPrincipal), above, err
}
