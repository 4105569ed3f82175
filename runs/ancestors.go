package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// requestersAbove walks up from a session's and a run's parents. An ancestor session may not exist.
func requestersAbove(ctx context.Context, reader ValueReader, from *ancestorsError) (all requesters, err error) {
	sessions, parentRunID := []string{from.parentSessionID}, from.parentRunID
	seen := map[string]bool{"": true}
	for range maxAncestors {
		if refusal.ValidID(parentRunID) && !seen["run "+parentRunID] {
			seen["run "+parentRunID] = true
			record, err := reader.Run(ctx, parentRunID)
			switch {
			case err == nil:
				all = all.with(record.Run.Principal, record.Run.HolderPrincipal)
				sessions, parentRunID = append(sessions, record.Run.SessionID), record.Run.ParentRunID
			case refusal.CodeOf(err) == "":
				return "", err
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
				for line := range strings.SplitSeq(head.Requesters, "\n") {
					all = all.and(line)
				}
				above = append(above, head.ParentSessionID)
			case refusal.CodeOf(err) == "":
				return "", err
			}
		}
		if sessions = above; len(sessions) == 0 && (!refusal.ValidID(parentRunID) || seen["run "+parentRunID]) {
			return all, nil
		}
	}
	return everybody, nil
}

// CheckRequester returns the requester_excluded error with which the caller's allow of an open approval
// would be refused right now, or nil. It reads outside the lock, so use it only for display: [Decide]
// checks again. The reader must not be limited to the caller's scope.
func CheckRequester(ctx context.Context, reader ValueReader, request *model.Request, caller *auth.Identity, actor Actor) error {
	check, err := RequesterCheck(ctx, reader, request)
	if err != nil {
		return err
	}
	return check(caller, actor)
}

// RequesterCheck reads the data for [CheckRequester] once, to check several callers.
func RequesterCheck(ctx context.Context, reader ValueReader, request *model.Request) (check func(caller *auth.Identity, actor Actor) error, err error) {
	if !request.Open() || !ExcludesRequesters(request) {
		return func(*auth.Identity, Actor) error { return nil }, nil
	}
	head, err := reader.SessionHead(ctx, request.SessionID)
	if err != nil {
		return nil, err
	}
	record, err := reader.Run(ctx, request.RunID)
	if err != nil {
		return nil, err
	}
	above, err := requestersAbove(ctx, reader, &ancestorsError{head.ParentSessionID, record.Run.ParentRunID})
	if err != nil {
		return nil, err
	}
	asked := requesters(head.Requesters).with(record.Run.Principal, record.Run.HolderPrincipal) + "\n" + above
	return func(caller *auth.Identity, actor Actor) error { return asked.exclude(request.RequestID, caller, actor) }, nil
}
