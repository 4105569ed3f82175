package stream

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// What a snapshot of the inbox has at most, of each kind. It is read in pages.
const (
	snapshotRequests = 1000
	snapshotBytes    = 4 << 20
	snapshotPage     = 100
)

// InboxSnapshot is what is open in all sessions.
type InboxSnapshot struct {
	// Pending holds open approvals and questions, the oldest first: at most 1,000 of
	// each.
	Pending []model.PendingRequest
	// More says that there are others, which are not shown.
	More bool

	frame func() ([]byte, error)
}

// readOpen reads what is open.
func readOpen(ctx context.Context, store Store) (*InboxSnapshot, error) {
	snapshot := &InboxSnapshot{}
	snapshot.frame = sync.OnceValues(snapshot.encode)
	for _, kind := range []model.RequestKind{model.KindApproval, model.KindQuestion} {
		more, err := eachOpen(ctx, store, kind, func(one *model.PendingRequest) { snapshot.Pending = append(snapshot.Pending, *one) })
		if err != nil {
			return nil, err
		}
		snapshot.More = snapshot.More || more
	}
	slices.SortStableFunc(snapshot.Pending, func(a, b model.PendingRequest) int {
		return cmp.Or(cmp.Compare(a.Request.CreatedAtMs, b.Request.CreatedAtMs),
			cmp.Compare(a.Request.SessionID, b.Request.SessionID), cmp.Compare(a.Request.RunID, b.Request.RunID),
			cmp.Compare(a.Request.Number, b.Request.Number))
	})
	return snapshot, nil
}

// eachOpen visits the open requests of a kind up to the bounds of a snapshot, and
// reports whether there are more.
func eachOpen(ctx context.Context, store Store, kind model.RequestKind, visit func(*model.PendingRequest)) (more bool, err error) {
	query := runs.RequestQuery{Kind: kind, Limit: snapshotPage}
	for count, size := 0, 0; ; {
		page, err := store.PendingRequests(ctx, query)
		if err != nil {
			return false, err
		}
		for i := range page {
			if count == snapshotRequests || size > snapshotBytes {
				return true, nil
			}
			visit(&page[i])
			count++
			size += len(page[i].Request.Body)
		}
		if len(page) < snapshotPage {
			return false, nil
		}
		last := &page[len(page)-1].Request
		query.After = &runs.RequestPosition{SessionID: last.SessionID, RunID: last.RunID, RequestID: last.RequestID}
	}
}

// View returns the snapshot as /v1 shows it.
func (s *InboxSnapshot) View() api.InboxView {
	view := api.InboxView{
		PendingApprovals: []api.PendingApprovalView{}, PendingQuestions: []api.PendingQuestionView{}, More: s.More,
	}
	for i := range s.Pending {
		if one := &s.Pending[i]; one.Request.Kind == model.KindApproval {
			view.PendingApprovals = append(view.PendingApprovals, one.ApprovalView())
		} else {
			view.PendingQuestions = append(view.PendingQuestions, one.QuestionView())
		}
	}
	return view
}

func (s *InboxSnapshot) encode() ([]byte, error) {
	return appendFrame(nil, "", NameSnapshot, s.View())
}

// snapshotCall is what followers that want a snapshot wait for together. When it is
// done, it has a snapshot or an error.
type snapshotCall struct {
	done     chan struct{}
	snapshot *InboxSnapshot
	err      error
	// at is the number of the last batch before it.
	at int64
}

// ask returns the snapshot that is taken next.
func (in *inbox) ask() *snapshotCall {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.asked == nil {
		in.asked = &snapshotCall{done: make(chan struct{})}
		in.notices.signal()
	}
	return in.asked
}

// askedFor returns the call that waits, if any. Who asks from now on may join it, as
// long as it is not answered: what it shows is read after it was asked for, or at
// least told from where it stands.
func (in *inbox) askedFor() *snapshotCall {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.asked
}

func (in *inbox) answer(call *snapshotCall, snapshot *InboxSnapshot, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	call.snapshot, call.at, call.err = snapshot, in.head, err
	in.asked = nil
	close(call.done)
}

// batch is what was read in one turn.
type batch struct {
	events []*model.Event
	size   int
	frames func() ([]byte, error)
}

func newBatch(events []*model.Event) *batch {
	one := &batch{events: events}
	for _, event := range events {
		one.size += len(event.Body)
	}
	one.frames = sync.OnceValues(one.encode)
	return one
}

// encode makes the frames of /v1, which have no ids: nothing is numbered across
// sessions.
func (b *batch) encode() (text []byte, err error) {
	for _, event := range b.events {
		if text, err = appendFrame(text, "", string(event.Type), event.Entry()); err != nil {
			return nil, err
		}
	}
	return text, nil
}
