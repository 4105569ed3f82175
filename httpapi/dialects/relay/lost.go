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

// maxEndedChats bounds the chats that are remembered because their streams ended with their runs.
const maxEndedChats = 10_000

// followedChats knows the chats whose clients learn from a stream of this process what becomes of their
// relays: the stream is open, or it ended with its run, which is remembered for the newest chats.
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

// begin notes that the stream of a chat is open until end is called, with whether it has told how the run ended.
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

// tooLate is the reply to an answer that was not recorded, because another face had settled the relay.
type tooLate struct {
	Success    bool           `json:"success"`
	Resolution api.Resolution `json:"resolution"`
}

// refuseAnswer returns the refusal of an answer, unless the client has lost its stream and the relay was
// settled elsewhere. Then nothing tells the client so but this reply, and its prompt stays until an
// answer is a 200: it gets one that says success false and what was recorded.
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

// settledElsewhere returns what became of a relay by other means than an answer here, when its client was
// not told by a stream of this process; nil for any other relay.
func (f *face) settledElsewhere(ctx context.Context, sessionID, relayID string) (*api.Resolution, error) {
	if f.followed.has(sessionID) {
		return nil, nil
	}
	relay, err := f.FindRequest(ctx, relayID)
	if relay == nil || relay.Kind != model.KindApproval || relay.Open() || relay.SessionID != sessionID {
		return nil, err
	}
	session, err := f.Store.SessionHead(ctx, sessionID)
	if err != nil || chatStateOf(session) == nil {
		return nil, err
	}
	resolution := relay.Recorded()
	if resolution.Via == Via {
		return nil, nil
	}
	return &resolution, nil
}
