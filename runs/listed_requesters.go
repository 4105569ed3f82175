package runs

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Limits of the rows that [ReadRequesters] reads and compares for a list. The requesters of further rows are unknown.
const (
	maxListedLevels = 8       // sessions above each other
	maxListedBytes  = 4 << 20 // read, and again compared: many requests may have the same large sessions above them
	listedAtOnce    = 250     // sessions of one statement
)

// ListReader is the part of [reads.Worklist] that ReadRequesters uses.
type ListReader interface {
	Owners(ctx context.Context, runIDs []string) (map[string]reads.Owners, error)
	Requesters(ctx context.Context, sessionIDs []string) (map[string]reads.Requesters, error)
}

// ListedRequesters says who asked for the approvals of a list that exclude their requesters. It is read outside the lock, so use
// it only for display.
type ListedRequesters struct {
	// of has the requesters of each such approval, by handle; nil if they are not known.
	of map[string][]requesters
}

// ReadRequesters reads who asked for the open requests of a list, with a few statements for each level of the sessions above
// them, and none if no request excludes its requesters. After a failed read the requesters of the rest are unknown.
func ReadRequesters(ctx context.Context, reader ListReader, rows []model.PendingRequest) (*ListedRequesters, error) {
	listed := &ListedRequesters{map[string][]requesters{}}
	known := &knownRequesters{sessions: map[string]*model.Session{}, runs: map[string]*model.RunRecord{}}
	var left []*model.Request
	for i := range rows {
		if request := &rows[i].Request; request.Open() && ExcludesRequesters(request) {
			left = append(left, request)
			listed.of[request.Handle] = nil
			known.lackedSessions, known.lackedRuns = append(known.lackedSessions, request.SessionID), append(known.lackedRuns, request.RunID)
		}
	}
	compared := 0
	for range maxListedLevels {
		if len(left) == 0 {
			break
		}
		if err := known.readLacked(ctx, reader); err != nil {
			return listed, err
		}
		left = slices.DeleteFunc(left, func(request *model.Request) bool {
			known.lacks = false
			own, above, err := listsOf(ctx, known, request)
			if known.lacks {
				return false
			}
			size := len(own)
			for _, list := range above {
				size += len(list)
			}
			switch {
			case err != nil, compared+size > maxListedBytes:
				return true // settled meanwhile, and its run is gone; or too much
			case joined(above) == everybody:
				above = []requesters{everybody}
			}
			compared += size
			listed.of[request.Handle] = append(above, own)
			return true
		})
	}
	return listed, nil
}

// MayDecide returns a function that says of an open request of the list whether the caller's allow or answer would be accepted
// now, as far as the role and the requesters decide it. It is nil if that is not known.
func (l *ListedRequesters) MayDecide(caller *auth.Identity, actor Actor) func(*model.Request) *bool {
	excluded := map[requesters]bool{}
	excludes := func(list requesters) bool {
		if _, known := excluded[list]; !known {
			excluded[list] = list.exclude("", caller, actor) != nil
		}
		return excluded[list]
	}
	return func(request *model.Request) *bool {
		lists, excluding := l.of[request.Handle]
		may := caller.May(auth.Decide)
		if may && excluding && lists == nil {
			return nil
		}
		may = may && !slices.ContainsFunc(lists, excludes)
		return &may
	}
}

// NobodyMayAllow reports whether the requesters of an open request of the list are too many to tell apart, so that every caller's
// allow is refused.
func (l *ListedRequesters) NobodyMayAllow(request *model.Request) bool {
	return slices.ContainsFunc(l.of[request.Handle], func(list requesters) bool { return list.lists(everybody) })
}

// knownRequesters is a [RequesterReader] of rows that were read together. It notes the ids that it lacks, and goes on as if they
// did not exist.
type knownRequesters struct {
	// The values are nil for what does not exist.
	sessions map[string]*model.Session
	runs     map[string]*model.RunRecord
	bytes    int

	lacks                      bool
	lackedSessions, lackedRuns []string
}

// Run implements RequesterReader.
func (k *knownRequesters) Run(_ context.Context, runID string) (*model.RunRecord, error) {
	record, read := k.runs[runID]
	if !read {
		k.lacks, k.lackedRuns = true, append(k.lackedRuns, runID)
	}
	if record == nil {
		return nil, refusal.New(api.CodeRunNotFound, "unknown run %s", runID)
	}
	return record, nil
}

// SessionHead implements RequesterReader.
func (k *knownRequesters) SessionHead(_ context.Context, sessionID string) (*model.Session, error) {
	head, read := k.sessions[sessionID]
	if !read && refusal.ValidID(sessionID) {
		k.lacks, k.lackedSessions = true, append(k.lackedSessions, sessionID)
	}
	if head == nil {
		return nil, refusal.New(api.CodeSessionNotFound, "unknown session %s", sessionID)
	}
	return head, nil
}

// readLacked reads the missing rows, up to maxListedBytes.
func (k *knownRequesters) readLacked(ctx context.Context, reader ListReader) error {
	sessionIDs, runIDs := unique(k.lackedSessions), unique(k.lackedRuns)
	k.lackedSessions, k.lackedRuns = nil, nil
	owners, err := reader.Owners(ctx, runIDs)
	if err != nil {
		return err
	}
	for _, runID := range runIDs {
		k.runs[runID] = nil
		if of, exists := owners[runID]; exists {
			k.runs[runID] = &model.RunRecord{Run: model.Run{
				SessionID: of.SessionID, ParentRunID: of.ParentRunID, Principal: of.Principal, HolderPrincipal: of.HolderPrincipal,
			}}
		}
	}
	for some := range slices.Chunk(sessionIDs, listedAtOnce) {
		if k.bytes > maxListedBytes {
			break
		}
		found, err := reader.Requesters(ctx, some)
		if err != nil {
			return err
		}
		for _, sessionID := range some {
			k.sessions[sessionID] = nil
			if of, exists := found[sessionID]; exists {
				k.sessions[sessionID] = &model.Session{Requesters: of.Names, ParentSessionID: of.ParentSessionID}
				k.bytes += len(of.Names)
			}
		}
	}
	return nil
}

func unique(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}
