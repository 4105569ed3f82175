//go:build unix

package clients

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/test/rig"
)

// eventTypes are the names that a listener must ask for: an EventSource hands over
// only frames of the names that it was told.
var eventTypes = []string{
	"snapshot", "stream_gap", "accepted", "queued", "started", "waiting_for_approval", "approval_resolved",
	"waiting_for_user_question", "user_question_answered", "user_question_resolved", "output", "delta",
	"completed", "failed", "interrupted", "cancelled",
	"initial", "approval", "clarify",
}

// received is one frame as a client's listener saw it.
type received struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data string `json:"data"`
}

// reader gathers what a client reports.
type reader struct {
	t *testing.T

	mu     sync.Mutex
	frames []received
	// opens counts the connections.
	opens  int
	more   chan struct{}
	broken string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	return &reader{t: t, more: make(chan struct{})}
}

// report takes one line of what a client has to say: a frame; {"type":"open"}; or
// {"type":"broken"} when it will not connect again.
func (r *reader) report(line []byte) {
	var frame received
	err := json.Unmarshal(line, &frame)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.broken = "unreadable report: " + string(line)
	case frame.Type == "open":
		r.opens++
	case frame.Type == "broken":
		r.broken = "the client gave up: " + frame.Data
	default:
		// Clients send an id back as it came; its first part is the event's.
		frame.ID, _, _ = strings.Cut(frame.ID, ".")
		r.frames = append(r.frames, frame)
	}
	close(r.more)
	r.more = make(chan struct{})
}

// await waits until the reports so far satisfy.
func (r *reader) await(what string, satisfied func(frames []received, opens int) bool) {
	r.t.Helper()
	deadline := time.After(rig.Patience)
	for {
		r.mu.Lock()
		ok, broken, more := satisfied(r.frames, r.opens), r.broken, r.more
		r.mu.Unlock()
		require.Empty(r.t, broken)
		if ok {
			return
		}
		select {
		case <-more:
		case <-deadline:
			require.Failf(r.t, "nothing more comes", "waiting for %s", what)
		}
	}
}

// awaitEvent waits for the event with an id.
func (r *reader) awaitEvent(id string) {
	r.t.Helper()
	r.await("event "+id, func(frames []received, _ int) bool {
		return len(frames) > 0 && frames[len(frames)-1].ID == id
	})
}

// awaitConnections waits until the client has connected so often.
func (r *reader) awaitConnections(count int) {
	r.t.Helper()
	r.await(strconv.Itoa(count)+" connections", func(_ []received, opens int) bool { return opens >= count })
}

func (r *reader) connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opens
}

// requireWhole shows that the frames are a snapshot and then every event of the log
// after it, in order and each once, and that their folding leaves nothing open.
func (r *reader) requireWhole(log []api.RunEventEntry) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotEmpty(r.t, r.frames)
	require.Equal(r.t, "snapshot", r.frames[0].Type)
	at, err := strconv.Atoi(r.frames[0].ID)
	require.NoError(r.t, err)
	require.Len(r.t, r.frames[1:], len(log)-at, "every event after the snapshot, once")
	open := map[string]bool{}
	for i, frame := range r.frames[1:] {
		entry := log[at+i]
		require.Equal(r.t, entry.ID, frame.ID)
		var seen api.RunEventEntry
		require.NoError(r.t, json.Unmarshal([]byte(frame.Data), &seen))
		require.JSONEq(r.t, string(entry.Event), string(seen.Event))
		fold(r.t, open, entry.RunID, seen.Event)
	}
	require.Empty(r.t, open, "what is settled is not shown as open")
}

// fold keeps the set of what is open.
func fold(t *testing.T, open map[string]bool, runID string, text api.JSON) {
	t.Helper()
	var event struct {
		Type        string   `json:"type"`
		RequestIDs  []string `json:"request_ids"`
		Resolutions []struct {
			RequestID string `json:"request_id"`
		} `json:"resolutions"`
		Resolution struct {
			RequestID string `json:"request_id"`
		} `json:"resolution"`
	}
	require.NoError(t, json.Unmarshal(text, &event))
	switch event.Type {
	case "waiting_for_approval", "waiting_for_user_question":
		for _, id := range event.RequestIDs {
			open[runID+"/"+id] = true
		}
	case "approval_resolved":
		for _, resolution := range event.Resolutions {
			delete(open, runID+"/"+resolution.RequestID)
		}
	case "user_question_resolved":
		delete(open, runID+"/"+event.Resolution.RequestID)
	}
}
