package hermes

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// queue is one of the two kinds of things that wait: how it is called on its stream,
// how it is read, and which events of the session's log may have changed it.
type queue struct {
	event string
	index int // its place in a board
	// read returns the first of the queue as the wire shows it, or nil, and how many
	// there are.
	read    func(ctx context.Context, reader runs.Reader, sessionID string) (head any, count int, err error)
	changes func(event api.EventType) bool
}

// queueCount is how many queues there are.
const queueCount = 2

var (
	approvalQueue = queue{event: "approval", index: 0, read: readApprovals, changes: func(event api.EventType) bool {
		return event == api.EventApprovalResolved || changesBoth(event)
	}}
	clarifyQueue = queue{event: "clarify", index: 1, read: readClarifications, changes: func(event api.EventType) bool {
		return event == api.EventUserQuestionResolved || event == api.EventUserQuestionAnswered ||
			event == api.EventParentClarificationResolved || changesBoth(event)
	}}
)

// changesBoth: a suspension may raise both kinds and is reported once, and the end of
// a run settles whatever is open.
func changesBoth(event api.EventType) bool {
	return event == api.EventWaitingForApproval || event == api.EventWaitingForUserQuestion || model.Terminal(api.Status(event))
}

// pending is what a stream tells, and the reply of the approvals' snapshot.
type pending struct {
	Pending      any `json:"pending"`
	PendingCount int `json:"pending_count"`
}

func (q *queue) pending(ctx context.Context, reader runs.Reader, sessionID string) (pending, error) {
	head, count, err := q.read(ctx, reader, sessionID)
	return pending{Pending: head, PendingCount: count}, err
}

func readApprovals(ctx context.Context, reader runs.Reader, sessionID string) (head any, count int, err error) {
	open, err := openRequests(ctx, reader, model.KindApproval, sessionID)
	if err != nil || len(open) == 0 {
		return nil, 0, err
	}
	return approvalOf(&open[0].Request), len(open), nil
}

func readClarifications(ctx context.Context, reader runs.Reader, sessionID string) (head any, count int, err error) {
	asked, err := openQuestions(ctx, reader, sessionID)
	if err != nil || len(asked) == 0 {
		return nil, 0, err
	}
	return asked[0].view(), len(asked), nil
}

// readAtOnce is how many open requests are read in one go.
const readAtOnce = 500

// openRequests returns what is open of a kind in a session, oldest first. A session
// that cannot be has nothing.
func openRequests(ctx context.Context, reader runs.Reader, kind model.RequestKind, sessionID string) ([]model.PendingRequest, error) {
	if !refusal.ValidID(sessionID) {
		return nil, nil
	}
	var open []model.PendingRequest
	query := runs.RequestQuery{Kind: kind, SessionID: sessionID, Limit: readAtOnce}
	for {
		part, err := reader.PendingRequests(ctx, query)
		if err != nil {
			return nil, err
		}
		open = append(open, part...)
		if len(part) < readAtOnce {
			break
		}
		last := &part[len(part)-1].Request
		query.After = &runs.RequestPosition{SessionID: last.SessionID, RunID: last.RunID, RequestID: last.RequestID}
	}
	slices.SortFunc(open, func(a, b model.PendingRequest) int {
		return cmp.Or(cmp.Compare(a.Request.CreatedAtMs, b.Request.CreatedAtMs),
			cmp.Compare(a.Request.Number, b.Request.Number), cmp.Compare(a.Request.RunID, b.Request.RunID))
	})
	return open, nil
}

// openRequest returns the request of a kind that has a handle, when it is open and
// belongs to the session; else nil.
func openRequest(ctx context.Context, reader runs.Reader, kind model.RequestKind, sessionID, handle string) (*model.Request, error) {
	if !refusal.ValidID(handle) || !refusal.ValidID(sessionID) {
		return nil, nil
	}
	found, err := reader.RequestByHandle(ctx, handle)
	if refusal.CodeOf(err) == api.CodeRequestNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	request := &found.Request
	if request.Kind != kind || request.SessionID != sessionID || !request.Open() {
		return nil, nil
	}
	return request, nil
}
