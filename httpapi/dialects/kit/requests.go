package kit

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// pageSize is the page size of reads.
const pageSize = 500

// maxListed is the maximum number of requests in a list.
const maxListed = 1_000

// The functions below read open requests within the caller's scope, most of them those of a session and of
// the sessions below it. An invalid session id has none.

// OpenRequests returns the oldest open requests of a kind, oldest first: at most maxListed, and at most
// api.MaxReplyBytes of them unless the first is larger. The others follow as these are settled.
func (s *Services) OpenRequests(ctx context.Context, kind model.RequestKind, sessionID string) ([]*model.Request, error) {
	var open []*model.Request
	size := 0
	trim := func() {
		slices.SortFunc(open, func(a, b *model.Request) int {
			return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), cmp.Compare(a.Number, b.Number), cmp.Compare(a.RunID, b.RunID))
		})
		size = 0
		for i, request := range open {
			if i == maxListed || i > 0 && size+len(request.Body) > api.MaxReplyBytes {
				clear(open[i:])
				open = open[:i]
				return
			}
			size += len(request.Body)
		}
	}
	err := s.EachOpen(ctx, kind, sessionID, "", func(request *model.Request) {
		one := *request // the page is not kept
		open, size = append(open, &one), size+len(one.Body)
		if len(open) >= 2*maxListed || size > 2*api.MaxReplyBytes {
			trim()
		}
	})
	if err != nil {
		return nil, err
	}
	trim()
	return open, nil
}

// EachOpen visits the open requests of a kind in any order. A run limits it to that run.
func (s *Services) EachOpen(ctx context.Context, kind model.RequestKind, sessionID, runID string, visit func(*model.Request)) error {
	if !refusal.ValidID(sessionID) || runID != "" && !refusal.ValidID(runID) {
		return nil
	}
	return s.eachOpen(ctx, reads.RequestQuery{Kind: kind, SessionID: sessionID, Below: true, RunID: runID}, math.MaxInt, visit)
}

// maxPages is how many pages EachOpenAnywhere reads.
const maxPages = 4

// EachOpenAnywhere visits the open requests of a kind of all sessions, in the order of their session ids:
// at most maxPages pages, each of pageSize requests or of api.MaxReplyBytes.
func (s *Services) EachOpenAnywhere(ctx context.Context, kind model.RequestKind, visit func(*model.Request)) error {
	return s.eachOpen(ctx, reads.RequestQuery{Kind: kind}, maxPages, visit)
}

func (s *Services) eachOpen(ctx context.Context, query reads.RequestQuery, pages int, visit func(*model.Request)) error {
	budget := &reads.Budget{MaxBytes: api.MaxReplyBytes}
	query.Limit, query.Budget = pageSize, budget
	for range pages {
		page, err := s.Store.Reader(ctx).PendingRequests(ctx, query)
		if err != nil {
			return err
		}
		for i := range page {
			visit(&page[i].Request)
		}
		if len(page) < pageSize && !budget.Cut {
			return nil
		}
		last := &page[len(page)-1].Request
		query.After = &reads.RequestPosition{SessionID: last.SessionID, RunID: last.RunID, RequestID: last.RequestID}
	}
	return nil
}

// OldestRequest returns the oldest open request of a kind, or nil. A run limits it to that run.
func (s *Services) OldestRequest(ctx context.Context, kind model.RequestKind, sessionID, runID string) (*model.Request, error) {
	if !refusal.ValidID(sessionID) || runID != "" && !refusal.ValidID(runID) {
		return nil, nil
	}
	found, err := s.Store.Reader(ctx).PendingRequests(ctx, reads.RequestQuery{Kind: kind, SessionID: sessionID, Below: true, RunID: runID, Oldest: true})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0].Request, nil
}

// CountOpen counts the open requests of a kind.
func (s *Services) CountOpen(ctx context.Context, kind model.RequestKind, sessionID string) (int, error) {
	if !refusal.ValidID(sessionID) {
		return 0, nil
	}
	count, err := s.Store.Reader(ctx).CountPendingRequests(ctx, reads.RequestQuery{Kind: kind, SessionID: sessionID, Below: true})
	return int(count), err
}

// CountOpenQuestions counts the unanswered questions. A request may have several.
func (s *Services) CountOpenQuestions(ctx context.Context, sessionID string) (int, error) {
	if !refusal.ValidID(sessionID) {
		return 0, nil
	}
	count, err := s.Store.Reader(ctx).CountPendingRequests(ctx, reads.RequestQuery{Kind: model.KindQuestion, SessionID: sessionID, Below: true, EachQuestion: true})
	return int(count), err
}

// FindRequest returns the request with a handle, open or settled. It returns nil for an unknown or
// invalid handle.
func (s *Services) FindRequest(ctx context.Context, handle string) (*model.Request, error) {
	if !refusal.ValidID(handle) {
		return nil, nil
	}
	found, err := s.Store.Reader(ctx).RequestByHandle(ctx, handle)
	if refusal.CodeOf(err) == api.CodeRequestNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &found.Request, nil
}

// OpenRequest returns the open request of a kind with a handle, or nil. It may be settled before it
// is decided: the door has the last word.
func (s *Services) OpenRequest(ctx context.Context, kind model.RequestKind, handle string) (*model.Request, error) {
	request, err := s.FindRequest(ctx, handle)
	if request == nil || request.Kind != kind || !request.Open() {
		return nil, err
	}
	return request, nil
}

// OpenInSession returns the open request of a kind with a handle if it belongs to a session or to
// one below it, or nil.
func (s *Services) OpenInSession(ctx context.Context, kind model.RequestKind, sessionID, handle string) (*model.Request, error) {
	request, err := s.OpenRequest(ctx, kind, handle)
	if request == nil || request.SessionID == sessionID {
		return request, err
	}
	oldest, err := s.OldestRequest(ctx, kind, sessionID, request.RunID)
	if oldest == nil || oldest.SessionID != request.SessionID {
		return nil, err
	}
	return request, nil
}

// OptionOf returns the id of the option with a label or, failing that, an id. clean, unless nil, is
// applied to each label. matches is 0 for no match, and more than 1 when several options have the
// label; the id is then the first one's.
func OptionOf(question *api.UserQuestion, text string, clean func(string) string) (id string, matches int) {
	for _, option := range question.Options {
		label := option.Label
		if clean != nil {
			label = clean(label)
		}
		if label == text {
			id = cmp.Or(id, option.ID)
			matches++
		}
	}
	if matches > 0 {
		return id, matches
	}
	if slices.ContainsFunc(question.Options, func(option api.QuestionOption) bool { return option.ID == text }) {
		return text, 1
	}
	return "", 0
}
