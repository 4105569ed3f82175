package stream

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Limits of an inbox snapshot for each kind. It is read in pages.
const (
	snapshotRequests = 1000
	snapshotBytes    = 4 << 20
	snapshotPage     = 100
	// keptForms bounds the encoded forms that are kept, each of which may have several MiB.
	keptForms = 8
)

// InboxSnapshot is every open request of all sessions.
type InboxSnapshot struct {
	// Pending holds open approvals and questions, oldest first, at most 1,000 of each.
	Pending []model.PendingRequest
	// More says that further requests are open.
	More bool
	// ApprovalsCount and QuestionsCount count all open requests.
	ApprovalsCount, QuestionsCount int64
	// NowMs is the time of the read by the store's clock.
	NowMs int64

	asked *runs.ListedRequesters
	// unknown is why it is not known of some requests who asked; nil if it is known.
	unknown error
	// frames has forms that were encoded, at most keptForms. Readers who may decide the same requests and snooze none share one.
	mu     sync.Mutex
	frames map[string]func() ([]byte, error)
}

func newSnapshot() *InboxSnapshot {
	return &InboxSnapshot{frames: map[string]func() ([]byte, error){}}
}

// readOpen reads the open requests in a scope.
func readOpen(ctx context.Context, store Store, scope reads.Scope) (*InboxSnapshot, error) {
	snapshot, within := newSnapshot(), store.Within(scope)
	for kind, count := range map[model.RequestKind]*int64{
		model.KindApproval: &snapshot.ApprovalsCount, model.KindQuestion: &snapshot.QuestionsCount,
	} {
		more, err := eachOpen(ctx, within, kind, func(one *model.PendingRequest) {
			snapshot.Pending = append(snapshot.Pending, *one)
			*count++
		})
		if err == nil && more {
			*count, err = within.CountPendingRequests(ctx, reads.RequestQuery{Kind: kind})
		}
		if err != nil {
			return nil, err
		}
		snapshot.More = snapshot.More || more
	}
	nowMs, err := store.NowMs(ctx)
	if err != nil {
		return nil, err
	}
	snapshot.NowMs = nowMs
	if snapshot.asked, snapshot.unknown = runs.ReadRequesters(ctx, store, snapshot.Pending); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	slices.SortStableFunc(snapshot.Pending, func(a, b model.PendingRequest) int {
		return cmp.Or(cmp.Compare(a.Request.CreatedAtMs, b.Request.CreatedAtMs),
			cmp.Compare(a.Request.SessionID, b.Request.SessionID), cmp.Compare(a.Request.RunID, b.Request.RunID),
			cmp.Compare(a.Request.Number, b.Request.Number))
	})
	return snapshot, nil
}

// eachOpen visits the open requests of a kind up to a snapshot's limits, and reports whether there
// are more.
func eachOpen(ctx context.Context, store reads.Reader, kind model.RequestKind, visit func(*model.PendingRequest)) (more bool, err error) {
	budget := &reads.Budget{MaxBytes: snapshotBytes}
	query := reads.RequestQuery{Kind: kind, Limit: snapshotPage, Budget: budget}
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
		if len(page) < snapshotPage && !budget.Cut {
			return false, nil
		}
		last := &page[len(page)-1].Request
		query.After = &reads.RequestPosition{SessionID: last.SessionID, RunID: last.RunID, RequestID: last.RequestID}
	}
}

// view returns the snapshot as /v1 shows it to a reader, "" for none. may says of each request whether they may decide it.
func (s *InboxSnapshot) view(reader string, may []*bool) api.InboxView {
	view := api.InboxView{
		PendingApprovals: []api.PendingApprovalView{}, PendingQuestions: []api.PendingQuestionView{}, More: s.More,
		ApprovalsCount: s.ApprovalsCount, QuestionsCount: s.QuestionsCount, NowMs: s.NowMs,
	}
	for i := range s.Pending {
		if one := &s.Pending[i]; one.Request.Kind == model.KindApproval {
			shown := one.ApprovalView(reader)
			shown.MayDecide = may[i]
			view.PendingApprovals = append(view.PendingApprovals, shown)
		} else {
			shown := one.QuestionView(reader)
			shown.MayDecide = may[i]
			view.PendingQuestions = append(view.PendingQuestions, shown)
		}
	}
	return view
}

// mayDecide says of each request whether a reader may decide it, nil where that is not known. key is the same for the
// same answers.
func (s *InboxSnapshot) mayDecide(with *InboxFrames) (may []*bool, key string) {
	may = make([]*bool, len(s.Pending))
	if with.Caller == nil {
		return may, ""
	}
	signs, of := make([]byte, len(may)), s.asked.MayDecide(with.Caller, with.Actor)
	for i := range may {
		request := &s.Pending[i].Request
		switch may[i] = of(request); {
		case request.DueAtMs != 0 && request.DueAtMs <= s.NowMs:
			may[i], signs[i] = new(bool), '-'
		case may[i] == nil:
			signs[i] = '?'
		case *may[i]:
			signs[i] = '+'
		default:
			signs[i] = '-'
		}
	}
	return may, string(signs)
}

// frameFor returns the frame for a reader.
func (s *InboxSnapshot) frameFor(with *InboxFrames) ([]byte, error) {
	reader := with.Actor.Name
	snoozes := func(one model.PendingRequest) bool { return one.Request.SnoozedUntil(reader) != 0 }
	may, key := s.mayDecide(with)
	if reader != "" && slices.ContainsFunc(s.Pending, snoozes) {
		return s.encode(reader, may, with.Summary)
	}
	key += strconv.FormatBool(with.Summary)
	s.mu.Lock()
	frame, known := s.frames[key]
	if !known {
		frame = sync.OnceValues(func() ([]byte, error) { return s.encode("", may, with.Summary) })
		if len(s.frames) < keptForms {
			s.frames[key] = frame
		}
	}
	s.mu.Unlock()
	return frame()
}

func (s *InboxSnapshot) encode(reader string, may []*bool, summary bool) ([]byte, error) {
	view := s.view(reader, may)
	if summary {
		for i := range view.PendingApprovals {
			wire.Summarize(&view.PendingApprovals[i].Request)
		}
	}
	return appendFrame(nil, "", NameSnapshot, view)
}

// snapshotCall is a snapshot that followers wait for together. When done, it has a snapshot or an
// error.
type snapshotCall struct {
	done     chan struct{}
	snapshot *InboxSnapshot
	err      error
	// at is the number of the last batch before it.
	at int64
}

// batch is the result of one read.
type batch struct {
	number    int64
	published []*model.Event
	bytes     int
	// frames and summaries are the events as frames of /v1; summaries truncate inputs.
	frames, summaries func() ([]byte, error)
	owners            batchOwners
}

func newBatch(number int64, events []*model.Event) *batch {
	one := &batch{number: number, published: events}
	for _, event := range events {
		one.bytes += len(event.Body)
	}
	one.frames = sync.OnceValues(func() ([]byte, error) { return one.encode(false) })
	one.summaries = sync.OnceValues(func() ([]byte, error) { return one.encode(true) })
	return one
}

// position implements item.
func (b *batch) position() int64 { return b.number }

// weight implements item.
func (b *batch) weight() (events, bytes int) { return len(b.published), b.bytes }

// encode returns the frames of /v1. They have no ids, because events have no numbers across
// sessions.
func (b *batch) encode(summary bool) (text []byte, err error) {
	for _, event := range b.published {
		entry := event.Entry()
		if summary {
			entry = wire.SummarizeEvent(entry, event.Type)
		}
		if text, err = appendFrame(text, "", string(event.Type), entry); err != nil {
			return nil, err
		}
	}
	return text, nil
}
