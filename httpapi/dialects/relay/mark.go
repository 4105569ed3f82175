package relay

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// mark is what this face knows of a session that it made. It stands in the session's
// metadata, so that every replica and every later process knows it too.
type mark struct {
	// RunID names the chat's only run.
	RunID string `json:"run_id"`
	// Detached: the relays outlive the stream.
	Detached bool `json:"detached"`
	// ClosedAtMs is when the client left the stream; 0 while it has not.
	ClosedAtMs int64 `json:"closed_at_ms,omitzero"`
}

// metadata is the metadata of a session with a mark.
type metadata struct {
	Relay *mark `json:"relay"`
}

func (m *mark) metadata() (api.JSON, error) {
	text, err := json.Marshal(metadata{m})
	if err != nil {
		return nil, fmt.Errorf("encode the mark of a chat: %w", err)
	}
	return text, nil
}

// markOf returns the mark of a session, nil when it was not made by this face.
func markOf(session *model.Session) *mark {
	var found metadata
	if session.Metadata == nil || json.Unmarshal(session.Metadata, &found) != nil || found.Relay == nil || found.Relay.RunID == "" {
		return nil
	}
	return found.Relay
}

// liveChat returns the mark of a session whose relays can be answered as far as its
// row tells. Its run may be over all the same. Errors: errUnknownSession.
func (f *face) liveChat(ctx context.Context, sessionID string) (*mark, error) {
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
	known := markOf(session)
	if known == nil || session.EndedAtMs != 0 || known.ClosedAtMs != 0 {
		return nil, errUnknownSession
	}
	return known, nil
}

// runIsOver reports whether the run of a chat is over, or was never made.
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
