package codex

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// deletedSession is the body of 410.
type deletedSession struct {
	Status    string `json:"status"`
	SessionID string `json:"sessionId"`
	Title     string `json:"title,omitempty"`
	Message   string `json:"message"`
	DeletedAt string `json:"deletedAt"`
}

// systemSession is the body of 403.
type systemSession struct {
	Status    string `json:"status"`
	Code      string `json:"code"`
	SessionID string `json:"sessionId"`
	Message   string `json:"message"`
}

// isSystem reports whether a session is reserved for the machinery of its owner.
func isSystem(session *model.Session) bool { return isTrue(member(session.Metadata, "system")) }

// visible returns the session of the path when it may be shown, and nil when there is
// none, which is no error here. A session that has ended is gone before it is anything
// else (codex.md 3.3.1).
func (f *face) visible(r *http.Request) (*model.Session, error) {
	sessionID := wire.PathID(r, "sessionId")
	if !refusal.ValidID(sessionID) {
		return nil, nil
	}
	session, err := f.Store.SessionHead(r.Context(), sessionID)
	switch {
	case refusal.CodeOf(err) == api.CodeSessionNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case session.EndedAtMs != 0:
		return nil, &faceError{status: http.StatusGone, body: deletedSession{
			Status: statusDeleted, SessionID: sessionID, Title: text(member(session.Metadata, "title")),
			Message:   "This chat was permanently deleted and is no longer available.",
			DeletedAt: isoTime(session.EndedAtMs),
		}}
	case isSystem(session):
		return nil, &faceError{status: http.StatusForbidden, body: systemSession{
			Status: statusError, Code: codeSystemSession, SessionID: sessionID,
			Message: "system-owned sessions are reserved for orchestrator workers",
		}}
	}
	return session, nil
}

func (f *face) listApprovals(w http.ResponseWriter, r *http.Request) error {
	requests, err := f.open(r, model.KindApproval)
	if err != nil {
		return err
	}
	list := make([]PendingApproval, len(requests))
	for i := range requests {
		request := &requests[i].Request
		approval := request.Approval()
		list[i] = pendingApproval(request.SessionID, request.RunID, &approval)
		if f.reviews != nil && r.Method == http.MethodGet && changesFiles(list[i].Method) {
			f.reviews.ask(request)
		}
	}
	return wire.Respond(w, r, http.StatusOK, sessionPage[PendingApproval]{list})
}

func (f *face) listToolInputs(w http.ResponseWriter, r *http.Request) error {
	requests, err := f.open(r, model.KindQuestion)
	if err != nil {
		return err
	}
	list := make([]PendingToolInput, len(requests))
	for i := range requests {
		request := &requests[i].Request
		question := request.Question()
		list[i] = pendingToolInput(request.SessionID, request.RunID, &question)
	}
	return wire.Respond(w, r, http.StatusOK, sessionPage[PendingToolInput]{list})
}

// readRequests is how many open requests are read at once.
const readRequests = 500

// open returns the open requests of the session of the path, those that were raised
// first first.
func (f *face) open(r *http.Request, kind model.RequestKind) ([]model.PendingRequest, error) {
	session, err := f.visible(r)
	if session == nil || err != nil {
		return nil, err
	}
	return f.openOf(r.Context(), session.SessionID, kind)
}

func (f *face) openOf(ctx context.Context, sessionID string, kind model.RequestKind) ([]model.PendingRequest, error) {
	var all []model.PendingRequest
	query := runs.RequestQuery{Kind: kind, SessionID: sessionID, Limit: readRequests}
	for {
		page, err := f.Store.PendingRequests(ctx, query)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < readRequests {
			break
		}
		last := &page[len(page)-1].Request
		query.After = &runs.RequestPosition{SessionID: last.SessionID, RunID: last.RunID, RequestID: last.RequestID}
	}
	slices.SortFunc(all, func(a, b model.PendingRequest) int {
		return cmp.Or(cmp.Compare(a.Request.CreatedAtMs, b.Request.CreatedAtMs),
			cmp.Compare(a.Request.Number, b.Request.Number), cmp.Compare(a.Request.RunID, b.Request.RunID))
	})
	return all, nil
}
