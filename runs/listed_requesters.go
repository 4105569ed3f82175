package runs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Limits of what [ReadRequesters] reads for a list. Of the rows beyond them it is not known who asked.
const (
	maxListedLevels = 8 // sessions above each other
	maxListedBytes  = 4 << 20
	listedAtOnce    = 250 // sessions and runs of one statement
)

// AskerReader is the part of [reads.Worklist] that ReadRequesters uses.
type AskerReader interface {
	Askers(ctx context.Context, sessionIDs, runIDs []string) (map[string]reads.SessionAskers, map[string]reads.RunAskers, error)
}

// ListedRequesters says who asked for the approvals of a list that exclude their requesters. It is read outside the lock, so use
// it only for display.
type ListedRequesters struct {
	// sessions and runs have a nil entry for one that does not exist.
	sessions map[string]*reads.SessionAskers
	runs     map[string]*reads.RunAskers
	bytes    int
	// excluding are the handles of the requests that exclude their requesters.
	excluding map[string]bool
}

// ReadRequesters reads who asked for the open requests of a list, with a few statements for each level of the sessions above
// them, and none if no request excludes its requesters.
func ReadRequesters(ctx context.Context, reader AskerReader, rows []model.PendingRequest) (*ListedRequesters, error) {
	l := &ListedRequesters{sessions: map[string]*reads.SessionAskers{}, runs: map[string]*reads.RunAskers{}, excluding: map[string]bool{}}
	var sessionIDs, runIDs []string
	for i := range rows {
		if request := &rows[i].Request; request.Open() && ExcludesRequesters(request) {
			l.excluding[request.Handle] = true
			sessionIDs, runIDs = append(sessionIDs, request.SessionID), append(runIDs, request.RunID)
		}
	}
	for range maxListedLevels {
		if len(sessionIDs)+len(runIDs) == 0 {
			break
		}
		var err error
		if sessionIDs, runIDs, err = l.readLevel(ctx, reader, sessionIDs, runIDs); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// readLevel reads sessions and runs that were not read yet, and returns those above them.
func (l *ListedRequesters) readLevel(ctx context.Context, reader AskerReader, sessionIDs, runIDs []string) (aboveSessions, aboveRuns []string, err error) {
	sessionIDs, runIDs = unread(l.sessions, sessionIDs), unread(l.runs, runIDs)
	for len(sessionIDs)+len(runIDs) > 0 && l.bytes < maxListedBytes {
		nextSessions, nextRuns := min(len(sessionIDs), listedAtOnce), min(len(runIDs), listedAtOnce)
		sessions, byRun, err := reader.Askers(ctx, sessionIDs[:nextSessions], runIDs[:nextRuns])
		if err != nil {
			return nil, nil, err
		}
		for _, sessionID := range sessionIDs[:nextSessions] {
			l.sessions[sessionID] = nil
			if found, there := sessions[sessionID]; there {
				l.sessions[sessionID] = &found
				l.bytes += len(found.Requesters)
				aboveSessions = append(aboveSessions, found.ParentSessionID)
			}
		}
		for _, runID := range runIDs[:nextRuns] {
			l.runs[runID] = nil
			if found, there := byRun[runID]; there {
				l.runs[runID] = &found
				aboveSessions, aboveRuns = append(aboveSessions, found.SessionID), append(aboveRuns, found.ParentRunID)
			}
		}
		sessionIDs, runIDs = sessionIDs[nextSessions:], runIDs[nextRuns:]
	}
	return aboveSessions, aboveRuns, nil
}

// unread returns the valid ids that a map does not have, each once.
func unread[Askers any](known map[string]*Askers, ids []string) []string {
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool {
		_, read := known[id]
		return read || !refusal.ValidID(id)
	})
}

// errUnread says that some of the requesters were not read.
var errUnread = errors.New("not all requesters were read")

// MayDecide returns a function that says of an open request of the list whether the caller's allow or answer would be accepted
// now, as far as the role and the requesters decide it. It is nil if that is not known.
func (l *ListedRequesters) MayDecide(caller *auth.Identity, actor Actor) func(*model.Request) *bool {
	may, mayNot := true, false
	if !caller.May(auth.Decide) {
		return func(*model.Request) *bool { return &mayNot }
	}
	excluded := map[string]bool{} // by session
	ofSession := func(sessionID string) bool {
		if _, known := excluded[sessionID]; !known {
			excluded[sessionID] = requesters(l.sessions[sessionID].Requesters).exclude("", caller, actor) != nil
		}
		return excluded[sessionID]
	}
	return func(request *model.Request) *bool {
		if !l.excluding[request.Handle] {
			return &may
		}
		askers, err := l.above(request)
		switch {
		case err != nil:
			return nil
		case slices.ContainsFunc(askers.sessionIDs, ofSession), askers.owners.exclude("", caller, actor) != nil:
			return &mayNot
		case askers.count > maxRequesters:
			return nil // the decision may count everybody as a requester
		}
		return &may
	}
}

// askers are the sessions and the owners of runs that asked for a request. count counts the names.
type askers struct {
	sessionIDs []string
	owners     requesters
	count      int
}

// above walks up from a request, as requestersAbove does. Errors: errUnread.
func (l *ListedRequesters) above(request *model.Request) (found askers, err error) {
	if l.sessions[request.SessionID] == nil || l.runs[request.RunID] == nil {
		return found, errUnread // settled meanwhile, and gone
	}
	var runIDs []string
	sessionIDs, runID := []string{request.SessionID}, request.RunID
	for len(sessionIDs) > 0 || runID != "" {
		if run, read := l.runs[runID]; run != nil && !slices.Contains(runIDs, runID) {
			runIDs = append(runIDs, runID)
			found.owners = found.owners.with(run.Principal, run.HolderPrincipal)
			sessionIDs, runID = append(sessionIDs, run.SessionID), run.ParentRunID
		} else if !read && refusal.ValidID(runID) {
			return found, errUnread
		} else {
			runID = ""
		}
		var parents []string
		for _, sessionID := range sessionIDs {
			session, read := l.sessions[sessionID]
			switch {
			case !read && refusal.ValidID(sessionID):
				return found, errUnread
			case session != nil && !slices.Contains(found.sessionIDs, sessionID):
				found.sessionIDs = append(found.sessionIDs, sessionID)
				found.count += strings.Count(session.Requesters, "\n") + 1
				parents = append(parents, session.ParentSessionID)
			}
		}
		sessionIDs = parents
	}
	return found, nil
}
