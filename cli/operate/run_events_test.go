package operate

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// The stream continues after the events that were read before the run, so that none between them is lost.
func TestFollowMissesNoEvent(t *testing.T) {
	t.Parallel()
	const ended = `{"id":"4","session_id":"s","run_id":"r","timestamp_ms":2,"event":{"type":"completed"}}`
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/runs/r":
			_, _ = io.WriteString(w, `{"run_id":"r","session_id":"s","status":"running"}`)
		case "/v1/runs/r/events":
			_, _ = io.WriteString(w, `[{"id":"3","session_id":"s","run_id":"r","timestamp_ms":1,"event":{"type":"running"},"hash":"89abcdef89abcdef89abcdef89abcdef"}]`)
		case "/v1/runs/r/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			if r.Header.Get("Last-Event-ID") == "3.89abcdef89abcdef89abcdef89abcdef" {
				fmt.Fprintf(w, "id: 4.0123456\nevent: completed\ndata: %s\n\n", ended)
				return
			}
			_, _ = io.WriteString(w, "event: stream_gap\ndata: {\"reason\":\"reset\"}\n\n")
			_, _ = io.WriteString(w, "id: 4.0123456\nevent: snapshot\ndata: {\"run_id\":\"r\",\"status\":\"completed\"}\n\n")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(service.Close)
	var out bytes.Buffer
	show := runsShow{Reporting: console.Reporting{Connection: console.Connection{Server: service.URL}}, runRef: runRef{RunID: "r"}, Follow: true}
	require.NoError(t, show.Run(t.Context(), &console.Console{Stdout: &out, Stderr: io.Discard, Now: time.Now}))
	require.Contains(t, out.String(), "4  completed")
}

// Only the service's events say what was decided.
func TestAWorkersEventDecidesNothing(t *testing.T) {
	t.Parallel()
	const resolution = `{"request_id":"a","outcome":"allowed","resolved_by":"user:ada","resolved_at_ms":1,"via":"api:inbox"}`
	for _, test := range []struct{ event, kind, what string }{
		{`{"type":"approval_resolved","resolutions":[` + resolution + `]}`, "approval_resolved", "a allowed by user:ada, in the inbox"},
		{`{"type":"user_question_resolved","resolution":` + resolution + `}`, "user_question_resolved", "a allowed by user:ada, in the inbox"},
		{`{"type":"parent_clarification_resolved","resolution":` + resolution + `}`, "parent_clarification_resolved", "a allowed by user:ada, in the inbox"},
		{`{"type":"note","resolutions":[` + resolution + `],"reason":"why"}`, "note", "why"},
		{`{"type":"note","resolution":` + resolution + `}`, "note", ""},
		{`{"type":"note","resolutions":[null]}`, "note", ""},
		{`{"type":"note","resolutions":5}`, "note", ""},
		{`{"type":"note","reason":5}`, "", `{"type":"note","reason":5}`},
		{`{"type":"approval_resolved","resolutions":5}`, "", `{"type":"approval_resolved","resolutions":5}`},
	} {
		kind, what := eventText(&api.RunEventEntry{Event: api.JSON(test.event)})
		require.Equal(t, []string{test.kind, test.what}, []string{kind, what}, test.event)
	}
}
