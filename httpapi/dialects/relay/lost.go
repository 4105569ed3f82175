package relay

import (
	"context"
	"net/http"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
)

// maxEndedChats is the maximum number of remembered chats whose streams ended with their runs.
const maxEndedChats = 10_000

// followedChats tracks the chats whose clients learn the outcome of their relays from a stream of
// this process: the stream is open, or it ended with its run. The latter is remembered for the
// newest chats.
type followedChats struct {
	mu    sync.Mutex
	open  map[string]bool
	ended *lru.Cache[string, struct{}]
}

func newFollowedChats() *followedChats {
	ended, err := lru.New[string, struct{}](maxEndedChats)
	if err != nil {
		panic("relay: " + err.Error()) // only for a size below one
	}
	return &followedChats{open: map[string]bool{}, ended: ended}
}

// begin records an open stream of a chat until end is called. told says whether the stream reported
// the end of the run.
func (c *followedChats) begin(sessionID string) (end func(told bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[sessionID] = true
	return func(told bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, sessionID)
		if told {
			c.ended.Add(sessionID, struct{}{})
		}
	}
}

func (c *followedChats) has(sessionID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[sessionID] || c.ended.Contains(sessionID)
}

// tooLate is the reply to an answer that was not recorded, because the relay was settled through
// another API.
type tooLate struct {
	Success    bool           `json:"success"`
	Resolution api.Resolution `json:"resolution"`
}

// refuseAnswer refuses an answer. If the client has lost its stream and the relay was settled
// elsewhere, only this reply can tell it, and its prompt stays until an answer is a 200. Such a
// client gets a 200 with success false and the recorded decision.
func (f *face) refuseAnswer(w http.ResponseWriter, r *http.Request, sessionID, relayID string, refused error) error {
	resolution, err := f.settledElsewhere(r.Context(), sessionID, relayID)
	switch {
	case err != nil:
		return err
	case resolution == nil:
		return refused
	}
	return wire.Respond(w, r, http.StatusOK, tooLate{Resolution: *resolution})
}

// settledElsewhere returns the outcome of a relay that was settled in another way and not reported
// on a stream of this process; nil for other relays.
func (f *face) settledElsewhere(ctx context.Context, sessionID, relayID string) (*api.Resolution, error) {
	if f.followed.has(sessionID) {
		return nil, nil
	}
	relay, err := f.FindRequest(ctx, relayID)
	if relay == nil || relay.Kind != model.KindApproval || relay.Open() {
		return nil, err
	}
	if below, err := f.IsWithin(ctx, relay.SessionID, sessionID); !below || err != nil {
		return nil, err
	}
	session, err := f.Store.Reader(ctx).SessionHead(ctx, sessionID)
	if err != nil || chatStateOf(session) == nil {
		return nil, err
	}
	resolution := relay.Recorded()
	if resolution.Via == Via {
		return nil, nil
	}
	return &resolution, nil
}
