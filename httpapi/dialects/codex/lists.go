package codex

import (
	"net/http"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/document"
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

// isSystem reports whether a session is reserved for its owner's own use.
func isSystem(session *model.Session) bool {
	return document.Kind(kit.Get(session.Metadata, "system")) == 't'
}

// visibleSession returns the path's session, nil (and no error) when it does not exist. Errors: 410
// for an ended session, 403 for a system session (docs/spec/codex.md#deleted-and-system-sessions).
func (f *face) visibleSession(r *http.Request) (*model.Session, error) {
	sessionID := wire.PathID(r, "sessionId")
	if !refusal.ValidID(sessionID) {
		return nil, nil
	}
	session, err := f.Store.Reader(r.Context()).SessionHead(r.Context(), sessionID)
	switch {
	case refusal.CodeOf(err) == api.CodeSessionNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case session.EndedAtMs != 0:
		return nil, &kit.Error{Status: http.StatusGone, Body: deletedSession{
			Status: statusDeleted, SessionID: sessionID, Title: kit.Text(kit.Get(session.Metadata, "title")),
			Message: textDeleted, DeletedAt: isoTime(session.EndedAtMs),
		}}
	case isSystem(session):
		return nil, &kit.Error{Status: http.StatusForbidden, Body: systemSession{
			Status: statusError, Code: codeSystemSession, SessionID: sessionID, Message: textSystem,
		}}
	}
	return session, nil
}

// openOf returns the open requests of the path's session and of the sessions below it, oldest
// first, without requests of system sessions below.
func (f *face) openOf(r *http.Request, kind model.RequestKind) ([]*model.Request, error) {
	session, err := f.visibleSession(r)
	if session == nil || err != nil {
		return nil, err
	}
	open, err := f.OpenRequests(r.Context(), kind, session.SessionID)
	if err != nil {
		return nil, err
	}
	hidden := map[string]bool{session.SessionID: false}
	for _, request := range open {
		if _, known := hidden[request.SessionID]; known {
			continue
		}
		if hidden[request.SessionID], err = f.announcer.isSystem(request.SessionID); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(open, func(request *model.Request) bool { return hidden[request.SessionID] }), nil
}

// requestedBy returns the session of a request, "" when it is the path's session.
func requestedBy(r *http.Request, request *model.Request) string {
	if request.SessionID == wire.PathID(r, "sessionId") {
		return ""
	}
	return request.SessionID
}

func (f *face) listApprovals(w http.ResponseWriter, r *http.Request) error {
	requests, err := f.openOf(r, model.KindApproval)
	if err != nil {
		return err
	}
	list := make([]PendingApproval, len(requests))
	for i, request := range requests {
		list[i] = pendingApproval(request.SessionID, request.RunID, new(request.Approval()))
		list[i].RequestedBy = requestedBy(r, request)
	}
	return wire.Respond(w, r, http.StatusOK, sessionPage[PendingApproval]{list})
}

func (f *face) listToolInputs(w http.ResponseWriter, r *http.Request) error {
	requests, err := f.openOf(r, model.KindQuestion)
	if err != nil {
		return err
	}
	list := make([]PendingToolInput, len(requests))
	for i, request := range requests {
		list[i] = pendingToolInput(request.SessionID, request.RunID, new(request.Question()))
		list[i].RequestedBy = requestedBy(r, request)
	}
	return wire.Respond(w, r, http.StatusOK, sessionPage[PendingToolInput]{list})
}
