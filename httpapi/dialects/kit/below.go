package kit

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Below follows the open requests of the sessions below one, within the scope of the context. Their
// events are in other logs, so it reads the requests at intervals, at most 500 at a time. It is not
// safe for concurrent use.
type Below struct {
	services  *Services
	kind      model.RequestKind
	sessionID string
	open      map[string]bool // by handle
	lookedAt  time.Time
}

// FollowBelow returns the requests of a kind below a session, of which none has been seen.
func (s *Services) FollowBelow(kind model.RequestKind, sessionID string) *Below {
	return &Below{services: s, kind: kind, sessionID: sessionID, open: map[string]bool{}}
}

// Due reports whether the last call of Changes is a keep-alive interval ago.
func (b *Below) Due() bool {
	return Now().Sub(b.lookedAt) >= b.services.KeepAlive
}

// Changes returns what was raised and what was settled since the previous call. A request that was
// deleted meanwhile is not among the settled ones.
func (b *Below) Changes(ctx context.Context) (raised []*model.PendingRequest, settled []*model.Request, err error) {
	b.lookedAt = Now()
	if !refusal.ValidID(b.sessionID) {
		return nil, nil, nil
	}
	page, err := b.services.Store.Reader(ctx).PendingRequests(ctx, reads.RequestQuery{
		Kind: b.kind, SessionID: b.sessionID, Below: true, Limit: pageSize, Budget: &reads.Budget{MaxBytes: api.MaxReplyBytes},
	})
	if err != nil {
		return nil, nil, err
	}
	listed := map[string]bool{}
	for i := range page {
		request := &page[i].Request
		listed[request.Handle] = true
		if request.SessionID != b.sessionID && !b.open[request.Handle] {
			b.open[request.Handle] = true
			raised = append(raised, &page[i])
		}
	}
	for handle := range b.open {
		if listed[handle] {
			continue
		}
		request, err := b.services.FindRequest(ctx, handle)
		if err != nil {
			return raised, settled, err
		}
		if request != nil && request.Open() {
			continue // there are more than one read returns, or it was raised since
		}
		delete(b.open, handle)
		if request != nil {
			settled = append(settled, request)
		}
	}
	return raised, settled, nil
}

// maxAncestors is how far IsWithin looks up.
const maxAncestors = 100

// IsWithin reports whether a session is another one or below it, as far as the caller can read them.
func (s *Services) IsWithin(ctx context.Context, sessionID, ancestorID string) (bool, error) {
	for range maxAncestors {
		if sessionID == ancestorID || sessionID == "" {
			return sessionID != "", nil
		}
		session, err := s.Store.Reader(ctx).SessionHead(ctx, sessionID)
		if refusal.CodeOf(err) != "" {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		sessionID = session.ParentSessionID
	}
	return false, nil
}

// Now returns the time of this process's clock, for intervals of reads and silence on a connection.
func Now() time.Time {
	return time.Now() //nolint:forbidigo // never compared with times of the database
}
