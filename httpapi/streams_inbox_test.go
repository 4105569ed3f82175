package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
)

// prompts is the state of a follower of the inbox.
type prompts struct {
	open map[string]bool // by session, run and request
	more bool
	// gaps holds the reasons of gaps, and events counts the received events by name.
	gaps   []string
	events map[string]int
}

func newPrompts() *prompts { return &prompts{open: map[string]bool{}, events: map[string]int{}} }

func promptKey(sessionID, runID, requestID string) string {
	return strings.Join([]string{sessionID, runID, requestID}, "/")
}

// apply applies a frame as docs/streams.md describes.
func (p *prompts) apply(one frame) error {
	switch one.name {
	case "", "keepalive":
		return nil
	case "snapshot":
		return p.begin(one.data)
	case "stream_gap":
		p.gaps = append(p.gaps, one.data)
		return nil
	}
	var entry api.RunEventEntry
	if err := json.Unmarshal([]byte(one.data), &entry); err != nil {
		return err
	}
	type decision struct {
		RequestID string `json:"request_id"`
	}
	var event struct {
		Type        string     `json:"type"`
		RequestIDs  []string   `json:"request_ids"`
		Resolutions []decision `json:"resolutions"`
		Resolution  decision   `json:"resolution"`
	}
	if err := json.Unmarshal(entry.Event, &event); err != nil {
		return err
	}
	if event.Type != one.name || one.id != "" {
		return fmt.Errorf("%+v: nothing is numbered across sessions, and the name is the type", one)
	}
	p.events[one.name]++
	for _, id := range event.RequestIDs {
		p.open[promptKey(entry.SessionID, entry.RunID, id)] = true
	}
	for _, settled := range append(event.Resolutions, event.Resolution) {
		delete(p.open, promptKey(entry.SessionID, entry.RunID, settled.RequestID))
	}
	return nil
}

func (p *prompts) begin(snapshot string) error {
	var view api.InboxView
	if err := json.Unmarshal([]byte(snapshot), &view); err != nil {
		return err
	}
	p.open, p.more = map[string]bool{}, view.More
	for i := range view.PendingApprovals {
		pending := &view.PendingApprovals[i]
		p.open[promptKey(pending.SessionID, pending.RunID, pending.Request.ID)] = true
	}
	for i := range view.PendingQuestions {
		pending := &view.PendingQuestions[i]
		p.open[promptKey(pending.SessionID, pending.RunID, pending.Request.ID)] = true
	}
	return nil
}

// until reads frames until the state fits.
func (r *reader) until(p *prompts, fits func() bool) {
	r.t.Helper()
	for !fits() {
		require.NoError(r.t, p.apply(r.next()))
	}
}

func testInbox(t *testing.T, a *rig) {
	parallel(t, "a snapshot, and then what happens", func(t *testing.T) {
		before := a.waiting(t, `"approvals":[`+approval("a1")+`,`+approval("a2")+`]`)
		stream := a.follow(t, "/v1/stream")
		require.Equal(t, "text/event-stream", stream.response.Header.Get("Content-Type"))
		require.Equal(t, "no", stream.response.Header.Get("X-Accel-Buffering"))
		first := stream.event()
		require.Equal(t, "snapshot", first.name)
		var view any
		require.NoError(t, json.Unmarshal([]byte(first.data), &view))
		require.NoError(t, a.contract.document.Components.Schemas["InboxView"].Value.VisitJSON(view))
		shown := newPrompts()
		require.NoError(t, shown.apply(first))
		// The snapshot may be a moment old, because another stream requested it. Later requests
		// follow it.
		stream.until(shown, func() bool {
			return shown.open[promptKey(before.session, before.run, "a1")] && shown.open[promptKey(before.session, before.run, "a2")]
		})

		question := a.waiting(t, `"questions":[`+question("q1")+`]`)
		asked := promptKey(question.session, question.run, "q1")
		stream.until(shown, func() bool { return shown.open[asked] })
		a.post(t, "/v1/runs/"+before.run+"/approvals", allow("a2")).want(http.StatusAccepted)
		stream.until(shown, func() bool { return !shown.open[promptKey(before.session, before.run, "a2")] })
		require.True(t, shown.open[promptKey(before.session, before.run, "a1")])
		a.post(t, "/v1/runs/"+question.run+"/questions", answer("q1", `"answers":`+goodAnswers)).want(http.StatusAccepted)
		a.post(t, "/v1/sessions/"+before.session+"/end", "").want(http.StatusOK)
		stream.until(shown, func() bool { return !shown.open[asked] && !shown.open[promptKey(before.session, before.run, "a1")] })
		require.NotContains(t, shown.events, "started", "only what is about requests")
	})
	parallel(t, "nothing is resumed", func(t *testing.T) {
		for _, stream := range []*reader{
			a.follow(t, "/v1/stream?cursor=7"), a.follow(t, "/v1/stream", header("Last-Event-ID", "7")),
			a.follow(t, "/v1/stream", header("Last-Event-ID", "x")),
		} {
			require.Equal(t, "snapshot", stream.event().name)
		}
		a.get(t, "/v1/stream?cursor=x", unchecked()).refused(api.CodeInvalidEventCursor)
	})
	parallel(t, "what a stream cannot be", func(t *testing.T) {
		a.get(t, "/v1/stream", header("Origin", "https://elsewhere.example")).refused(wire.CodeOriginNotAllowed)
		require.Equal(t, "GET", a.do(t, http.MethodHead, "/v1/stream", "").want(http.StatusMethodNotAllowed).header.Get("Allow"))
		for failing, code := range map[error]api.Code{
			errors.New("secret of the database"): wire.CodeInternalError, runs.ErrUnavailable: wire.CodeServiceUnavailable,
		} {
			broken := serve(t, &brokenStore{Store: a.store, err: failing}, a.contract)
			require.NotContains(t, broken.get(t, "/v1/stream").refused(code).text, "secret")
		}
	})
	parallel(t, "it ends with the service", func(t *testing.T) {
		leaving := serve(t, a.store, a.contract)
		drain := func(r *http.Request) *http.Request {
			return r.WithContext(httptrace.WithClientTrace(context.WithoutCancel(r.Context()), &httptrace.ClientTrace{
				GotFirstResponseByte: leaving.handler.Drain,
			}))
		}
		require.NotEmpty(t, leaving.get(t, "/v1/stream", drain).want(http.StatusOK).text)
		leaving.get(t, "/v1/stream").refused(wire.CodeServiceUnavailable)
	})
}

// An event of one replica reaches a reader on another as an event, through its notice, or without
// one as a gap with a snapshot.
func TestTheInboxOfAnotherReplica(t *testing.T) {
	t.Parallel()
	for name, pair := range pairs {
		parallel(t, name, func(t *testing.T) {
			reads, writes := pair(t)
			stream, shown := reads.follow(t, "/v1/stream"), newPrompts()
			require.NoError(t, shown.apply(stream.event()))
			raise := func(id string) {
				run := writes.waiting(t, `"approvals":[`+approval(id)+`]`)
				stream.until(shown, func() bool { return shown.open[promptKey(run.session, run.run, id)] })
			}
			if name == "two replicas without hints" {
				raise("a")
				require.Empty(t, shown.events)
				require.NotEmpty(t, shown.gaps)
			}
			// A replica that only now begins to listen says so with a gap.
			for try := 0; shown.events["waiting_for_approval"] == 0 && name != "two replicas without hints"; try++ {
				require.Less(t, try, 5, "no event came")
				raise(fmt.Sprint("a", try))
			}
			for _, reason := range shown.gaps {
				require.Equal(t, `{"reason":"missed"}`, reason)
			}
		})
	}
}
