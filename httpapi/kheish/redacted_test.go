package kheish_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// Redacted events lack members that these clients require for the type. They read the rest.
func TestRedactedEvents(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	redactor, is := store.(upkeep.Redactor)
	require.True(t, is)
	c := &cli{dialecttest.Serve(t, store, nil, func(o *httpapi.Options) { o.Redactor = redactor }), t}
	run := c.waiting("one", twoApprovals)
	other := c.Post(t, "/v1/runs", `{"session_id":"one","input":1}`).Want(http.StatusAccepted).TextAt("run_id")
	c.Post(t, "/v1/runs/"+other+"/cancel", "").Want(http.StatusOK)
	_, _, code := c.resolveAll(`"behavior":"allow"`, "")
	require.Empty(t, code)
	fence := c.Post(t, "/v1/runs/"+run+"/claim", `{"worker_id":"w"}`).Want(http.StatusOK).TextAt("lease", "fence")
	c.Post(t, "/v1/runs/"+run+"/suspend", `{"fence":"`+fence+`",`+oneQuestion[1:]).Want(http.StatusOK)
	c.Post(t, "/v1/runs/"+run+"/questions", `{"resolution":{"request_id":"q1","declined":true}}`).Want(http.StatusAccepted)
	fence = c.Post(t, "/v1/runs/"+run+"/claim", `{"worker_id":"w"}`).Want(http.StatusOK).TextAt("lease", "fence")
	c.Post(t, "/v1/runs/"+run+"/events", `{"fence":"`+fence+`","events":[{"type":"output","content":"hi"}]}`).Want(http.StatusAccepted)
	c.Post(t, "/v1/runs/"+run+"/fail", `{"fence":"`+fence+`","error":"no"}`).Want(http.StatusOK)
	log, code := get[sessionEventLog](c, "/v1/sessions/one/events")
	require.Empty(t, code)
	for _, known := range []string{"queued", "waiting_for_approval", "approval_resolved", "waiting_for_user_question", "user_question_resolved", "output", "failed"} {
		require.Contains(t, typesOf(dialecttest.At(log, "run_events")), known)
	}

	c.Post(t, "/v1/sessions/one/redact", `{"before_ms":9000000000000,"reason":"asked for"}`).Want(http.StatusOK)
	events, code := get[[]runEventEntry](c, "/v1/runs/"+run+"/events")
	require.Empty(t, code)
	require.Equal(t, []string{"accepted", "started", "started", "started", "output", "failed"}, typesOf(events))
	log, code = get[sessionEventLog](c, "/v1/sessions/one/events")
	require.Empty(t, code)
	require.Equal(t, []string{"accepted", "started", "accepted", "cancelled", "started", "started", "output", "failed"}, typesOf(dialecttest.At(log, "run_events")))
	_, code = get[runView](c, "/v1/runs/"+run)
	require.Empty(t, code)
	stream := c.Follow(t, http.MethodGet, "/kheish/v1/runs/"+run+"/stream?cursor=0", "")
	c.until(stream, "output", func(any) bool { return true })
	c.until(stream, "run_updated", func(data any) bool { return text(data, "run", "error") == "redacted" })
}
