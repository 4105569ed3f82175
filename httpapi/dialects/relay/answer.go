package relay

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// answerRelay decides a relay. The order of its checks is part of the contract
// (docs/spec/relay.md#answer-a-relay).
func (f *face) answerRelay(w http.ResponseWriter, r *http.Request) error {
	body, err := f.readObject(w, r)
	if err != nil {
		return err
	}
	response := body.Get("response")
	if !truthy(body.Get("sessionId")) || response == nil {
		return errRelayIncomplete
	}
	given, err := readAnswer(r.Context(), response)
	if err != nil {
		return err
	}
	actor, err := f.Actor(r)
	if err != nil {
		return err
	}
	sessionID, relayID := kit.Text(body.Get("sessionId")), wire.PathID(r, "relayId")
	switch err := f.recordAnswer(r.Context(), sessionID, relayID, given, actor); {
	case errors.Is(err, errUnknownSession), errors.Is(err, errUnknownRelay):
		return f.refuseAnswer(w, r, sessionID, relayID, err)
	case err != nil:
		return err
	}
	return wire.Respond(w, r, http.StatusOK, struct {
		Success bool `json:"success"`
	}{true})
}

// answer has the members of a response that are read.
type answer struct {
	// approved is given as it is: only true allows.
	approved api.JSON
	always   bool
	reason   string
}

// readAnswer reads a response, a large one in a slot of [cpulimit.Do]. It returns errors of answerOf,
// and the context's when it ends while the response waits for its slot.
func readAnswer(ctx context.Context, response api.JSON) (given answer, err error) {
	err = cpulimit.Do(ctx, len(response), func() error {
		given, err = answerOf(response)
		return err
	})
	return given, err
}

// answerOf reads a response. It refuses an allow that is unclear or has an edit.
func answerOf(response api.JSON) (answer, error) {
	given := answer{
		approved: kit.Get(response, "approved"), always: document.Kind(kit.Get(response, "always")) == 't',
		reason: recordable(kit.Text(kit.Get(response, "reason"))),
	}
	if !truthy(given.approved) {
		return given, nil
	}
	if document.Kind(given.approved) != 't' {
		return given, errUnclearAnswer
	}
	var edits kit.Edits
	if err := kit.Decode(response, &edits); err != nil {
		return given, err
	}
	if edit := edits.Given(); edit != "" {
		return given, refuse("%s: %s", edit, kit.TextNoEdit)
	}
	return given, nil
}

// recordAnswer decides a relay of a chat. Errors: errUnknownSession, errUnknownRelay.
func (f *face) recordAnswer(ctx context.Context, sessionID, relayID string, given answer, actor runs.Actor) error {
	chat, err := f.answerableChat(ctx, sessionID)
	if err != nil {
		return err
	}
	relay, err := f.OpenInSession(ctx, model.KindApproval, sessionID, relayID)
	if err != nil {
		return err
	}
	late := kit.NoRequest
	if relay != nil && relay.SessionID != sessionID {
		return f.answerOfChild(ctx, chat, relay, sessionID, given, actor)
	}
	if relay != nil {
		err = f.decideRelay(ctx, relay, given, actor)
		late = kit.LateOf(err)
	}
	switch late {
	case kit.NotLate:
	case kit.NoRequest, kit.Settled:
		// In this protocol the end of the run ends the session, and this check comes first.
		over, err := f.runIsOver(ctx, sessionID, chat.RunID)
		switch {
		case err != nil:
			return err
		case over:
			return errUnknownSession
		}
		return errUnknownRelay
	case kit.RunOver, kit.NoRun, kit.SessionOver:
		return errUnknownSession
	}
	return err
}

// answerOfChild decides a relay of a session below a chat's, which may outlive the chat. Errors:
// errUnknownSession, errUnknownRelay.
func (f *face) answerOfChild(ctx context.Context, chat *chatState, relay *model.Request, sessionID string, given answer, actor runs.Actor) error {
	over, err := f.runIsOver(ctx, sessionID, chat.RunID)
	switch {
	case err != nil:
		return err
	case over:
		return errUnknownSession
	}
	err = f.decideRelay(ctx, relay, given, actor)
	if kit.LateOf(err) != kit.NotLate {
		return errUnknownRelay
	}
	return err
}

// decideRelay sends the answer to the door. Anything but "approved": true denies.
func (f *face) decideRelay(ctx context.Context, relay *model.Request, given answer, actor runs.Actor) error {
	kind := document.Kind(given.approved)
	if kind != 't' && kind != 'f' {
		f.Logger.LogAttrs(ctx, slog.LevelInfo, "relay", slog.String("odd_response", "approved is neither true nor false"),
			slog.String("session_id", relay.SessionID), slog.String("run_id", relay.RunID), slog.String("request_id", relay.RequestID))
	}
	resolution := runs.ApprovalDecision{RequestID: relay.RequestID, Behavior: api.BehaviorDeny}
	if kind == 't' {
		resolution.Behavior = api.BehaviorAllow
		// Only true itself creates a rule, because the person does not confirm what it allows.
		if given.always {
			resolution, _ = f.allowAlways(new(relay.Approval()), relay.SessionID, 0)
		}
	} else {
		resolution.Reason = given.reason
	}
	_, err := f.Store.Do(ctx, &runs.ResolveApprovals{
		RunID: relay.RunID, Resolutions: []runs.ApprovalDecision{resolution}, MaxRuleAgeMs: f.MaxRuleAgeMs, Actor: actor,
	})
	return err
}

// recordable makes a reason valid: without control characters and short enough. A denial must not
// fail because of its reason.
func recordable(reason string) string {
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
