package relay

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// answer decides about one relay. The order of its errors is that of
// llm-gateway.md 5.3.
func (f *face) answer(w http.ResponseWriter, r *http.Request) error {
	body, err := f.readObject(w, r)
	if err != nil {
		return err
	}
	response := body.get("response")
	if !truthy(body.get("sessionId")) || response == nil {
		return errRelayIncomplete
	}
	who, err := actor(r)
	if err != nil {
		return err
	}
	sessionID, _ := textOf(body.get("sessionId"))
	known, err := f.liveChat(r.Context(), sessionID)
	if err != nil {
		return err
	}
	request, err := f.openRelay(r.Context(), sessionID, wire.PathID(r, "relayId"))
	if err == nil {
		err = f.decide(r.Context(), request, response, who)
	}
	switch refusal.CodeOf(err) {
	case api.CodeRequestNotFound, api.CodeApprovalNotPending, api.CodeApprovalStateConflict:
		// A run that is over takes its session with it, and that goes before.
		over, readErr := f.runIsOver(r.Context(), sessionID, known.RunID)
		switch {
		case readErr != nil:
			return readErr
		case over:
			return errUnknownSession
		}
		return errUnknownRelay
	case api.CodeRunStateConflict, api.CodeRunNotFound, api.CodeSessionNotFound, api.CodeSessionEnded:
		return errUnknownSession
	}
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, struct {
		Success bool `json:"success"`
	}{true})
}

// openRelay returns an open approval of a session by its handle. Errors:
// request_not_found, also for what is settled, is a question, or belongs to another
// session.
func (f *face) openRelay(ctx context.Context, sessionID, relayID string) (*model.Request, error) {
	unknown := refusal.New(api.CodeRequestNotFound, "unknown relay %s", wire.Shown(relayID))
	if !refusal.ValidID(relayID) {
		return nil, unknown
	}
	found, err := f.Store.RequestByHandle(ctx, relayID)
	if err != nil {
		return nil, err
	}
	request := &found.Request
	if request.SessionID != sessionID || request.Kind != model.KindApproval || !request.Open() {
		return nil, unknown
	}
	return request, nil
}

// decide gives the answer to the door. Anything without a truthy "approved" denies.
func (f *face) decide(ctx context.Context, request *model.Request, response api.JSON, who runs.Actor) error {
	members, err := objectOf(response)
	if err != nil {
		return err
	}
	approved := members.get("approved")
	if kind := document.Kind(approved); kind != 't' && kind != 'f' {
		f.Logger.LogAttrs(ctx, slog.LevelInfo, "relay", slog.String("odd_response", "approved is neither true nor false"),
			slog.String("session_id", request.SessionID), slog.String("run_id", request.RunID), slog.String("request_id", request.RequestID))
	}
	resolution := runs.ApprovalDecision{RequestID: request.RequestID, Behavior: api.BehaviorDeny}
	if truthy(approved) {
		resolution.Behavior = api.BehaviorAllow
		// Only true itself makes a rule: what it allows, nobody is asked about again.
		if document.Kind(members.get("always")) == 't' {
			approval := request.Approval()
			resolution, _ = f.always(&approval, request.SessionID, 0)
		}
	} else if reason, ok := textOf(members.get("reason")); ok {
		resolution.Reason = cleaned(reason)
	}
	_, err = f.Store.Do(ctx, &runs.ResolveApprovals{
		RunID: request.RunID, Resolutions: []runs.ApprovalDecision{resolution}, MaxRuleAgeMs: f.MaxRuleAgeMs, Actor: who,
	})
	return err
}

// cleaned makes a text one that can be recorded: a denial must not fail because of its
// reason.
func cleaned(reason string) string {
	reason = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return -1
		}
		return r
	}, reason)
	if len(reason) <= api.MaxTextLength {
		return reason
	}
	reason = reason[:api.MaxTextLength]
	for !utf8.ValidString(reason) {
		reason = reason[:len(reason)-1]
	}
	return reason
}
