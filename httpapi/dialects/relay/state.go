package relay

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// chatState is the dialect's data about a chat, in its session's metadata, so that every replica
// has it.
type chatState struct {
	// RunID names the chat's only run.
	RunID string `json:"run_id"`
	// Detached: relays stay answerable after the client disconnects.
	Detached bool `json:"detached"`
	// ClosedAtMs is when the client disconnected; 0 before that.
	ClosedAtMs int64 `json:"closed_at_ms,omitzero"`
}

type sessionMetadata struct {
	Relay *chatState `json:"relay"`
}

func (c *chatState) metadata() api.JSON { return kit.Encode(sessionMetadata{c}) }

// chatStateOf returns a chat's state, nil for a session of another kind.
func chatStateOf(session *model.Session) *chatState {
	var found sessionMetadata
	if session.Metadata == nil || json.Unmarshal(session.Metadata, &found) != nil || found.Relay == nil || found.Relay.RunID == "" {
		return nil
	}
	return found.Relay
}

// answerableChat returns the state of a chat whose session still accepts answers. Its run may be
// terminal. Errors: errUnknownSession.
func (f *face) answerableChat(ctx context.Context, sessionID string) (*chatState, error) {
	if !refusal.ValidID(sessionID) {
		return nil, errUnknownSession
	}
	session, err := f.Store.Reader(ctx).SessionHead(ctx, sessionID)
	if refusal.CodeOf(err) == api.CodeSessionNotFound {
		return nil, errUnknownSession
	}
	if err != nil {
		return nil, err
	}
	state := chatStateOf(session)
	if state == nil || session.EndedAtMs != 0 || state.ClosedAtMs != 0 {
		return nil, errUnknownSession
	}
	return state, nil
}

// runIsOver reports whether the chat's run is terminal or was never created.
func (f *face) runIsOver(ctx context.Context, sessionID, runID string) (bool, error) {
	if !refusal.ValidID(runID) {
		return true, nil
	}
	record, err := f.Store.Reader(ctx).Run(ctx, runID)
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return record.Run.SessionID != sessionID || model.Terminal(record.Run.Status), nil
}
