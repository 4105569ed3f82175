package relay

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// chatState is what the dialect keeps of a chat, in the metadata of its session, so that
// every replica knows it.
type chatState struct {
	// RunID names the chat's only run.
	RunID string `json:"run_id"`
	// Detached: the relays stay answerable when the client leaves the stream.
	Detached bool `json:"detached"`
	// ClosedAtMs is when the client left the stream; 0 while it has not.
	ClosedAtMs int64 `json:"closed_at_ms,omitzero"`
}

type sessionMetadata struct {
	Relay *chatState `json:"relay"`
}

func (c *chatState) metadata() api.JSON { return kit.Encode(sessionMetadata{c}) }

// chatStateOf returns the state of a chat, nil for a session that this dialect did not
// create.
func chatStateOf(session *model.Session) *chatState {
	var found sessionMetadata
	if session.Metadata == nil || json.Unmarshal(session.Metadata, &found) != nil || found.Relay == nil || found.Relay.RunID == "" {
		return nil
	}
	return found.Relay
}

// answerableChat returns the state of a chat whose relays can be answered as far as its
// session tells. Its run may be terminal. Errors: errUnknownSession.
func (f *face) answerableChat(ctx context.Context, sessionID string) (*chatState, error) {
	if !refusal.ValidID(sessionID) {
		return nil, errUnknownSession
	}
	session, err := f.Store.SessionHead(ctx, sessionID)
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

// runIsOver reports whether the run of a chat is terminal, or was never created.
func (f *face) runIsOver(ctx context.Context, sessionID, runID string) (bool, error) {
	if !refusal.ValidID(runID) {
		return true, nil
	}
	record, err := f.Store.Run(ctx, runID)
	if refusal.CodeOf(err) == api.CodeRunNotFound {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return record.Run.SessionID != sessionID || model.Terminal(record.Run.Status), nil
}
