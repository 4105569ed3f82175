package hermes

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// queue is one of the two kinds of pending requests of a session.
type queue struct {
	// event is the name of the stream's frames.
	event string
	index int // its index in a board
	kind  model.RequestKind
	// read returns the head of the queue (nil when empty) and its length.
	read func(f *face, ctx context.Context, sessionID string) (head any, count int, err error)
	// changes reports whether events of a type may change the queue.
	changes func(event api.EventType) bool
}

// queueCount is the number of queues.
const queueCount = 2

var (
	approvalQueue = queue{event: "approval", index: 0, kind: model.KindApproval, read: (*face).headApproval, changes: func(event api.EventType) bool {
		return event == api.EventApprovalResolved || changesBoth(event)
	}}
	clarifyQueue = queue{event: "clarify", index: 1, kind: model.KindQuestion, read: (*face).headClarification, changes: func(event api.EventType) bool {
		return event == api.EventUserQuestionResolved || event == api.EventUserQuestionAnswered ||
			event == api.EventParentClarificationResolved || changesBoth(event)
	}}
)

// changesBoth: a suspension is one event and may raise both kinds, and the end of a run settles
// everything open.
func changesBoth(event api.EventType) bool {
	return event == api.EventWaitingForApproval || event == api.EventWaitingForUserQuestion || model.Terminal(api.Status(event))
}

// pending is the data of a frame, and the snapshot of approvals.
type pending struct {
	Pending      any `json:"pending"`
	PendingCount int `json:"pending_count"`
}

func (f *face) headApproval(ctx context.Context, sessionID string) (head any, count int, err error) {
	oldest, err := f.OldestRequest(ctx, model.KindApproval, sessionID, "")
	if err != nil || oldest == nil {
		return nil, 0, err
	}
	// It may have been settled before the count.
	count, err = f.CountOpen(ctx, model.KindApproval, sessionID)
	return approvalOf(oldest, sessionID), max(count, 1), err
}

func (f *face) headClarification(ctx context.Context, sessionID string) (head any, count int, err error) {
	questions, err := f.oldestQuestions(ctx, sessionID)
	if err != nil || len(questions) == 0 {
		return nil, 0, err
	}
	// It may have been answered before the count.
	count, err = f.CountOpenQuestions(ctx, sessionID)
	return questions[0].view(sessionID), max(count, len(questions)), err
}

func (f *face) showApproval(w http.ResponseWriter, r *http.Request) error {
	head, count, err := f.headApproval(r.Context(), sessionOf(r))
	if err != nil {
		return err
	}
	return f.Answer(w, r, http.StatusOK, pending{head, count})
}

// showClarification answers without a count (docs/spec/hermes.md#snapshots).
func (f *face) showClarification(w http.ResponseWriter, r *http.Request) error {
	sessionID := sessionOf(r)
	questions, err := f.oldestQuestions(r.Context(), sessionID)
	if err != nil {
		return err
	}
	var head any
	if len(questions) > 0 {
		head = questions[0].view(sessionID)
	}
	return f.Answer(w, r, http.StatusOK, struct {
		Pending any `json:"pending"`
	}{head})
}
