package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi"
)

// testRedaction: a redacted text appears nowhere, and the audit log still verifies.
func testRedaction(t *testing.T, a *rig) {
	const secret = "correct-horse-battery"
	session, run, other := a.name("redacted"), a.name("r"), a.name("r")
	a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"run_id":%q,"agent_id":"coder","input":1,"suspend":{
		"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"bash","reason":%q,"input":{"command":%q}}],
		"questions":[{"id":"q1","tool_call_id":"d","questions":[{"id":"one","question":%q,"allow_freeform":true,"options":[{"id":"o","label":%q}]}]}]}}`,
		session, run, secret, secret, secret, secret)).want(http.StatusAccepted)
	a.post(t, "/v1/runs/"+run+"/approvals", `{"resolutions":[{"request_id":"a1","behavior":"allow","reason":"`+secret+`","updated_input":{"command":"`+secret+`"}}]}`).want(http.StatusAccepted)
	needed := a.post(t, "/v1/sessions/"+session+"/redact", `{"event_ids":["1"],"reason":"asked for"}`).refused(api.CodeEventNeeded)
	require.Contains(t, needed.textAt("detail"), "event 1 ")
	a.post(t, "/v1/runs/"+run+"/questions", `{"resolution":{"request_id":"q1","answers":[{"question_id":"one","freeform_answer":"`+secret+`"}]}}`).want(http.StatusAccepted)
	claim := a.post(t, "/v1/runs/"+run+"/claim", `{"worker_id":"w","lease_ms":60000}`).want(http.StatusOK)
	fence := claim.textAt("lease", "fence")
	a.post(t, "/v1/runs/"+run+"/events", `{"fence":"`+fence+`","events":[{"type":"output","content":"`+secret+`"},{"type":"note","text":"`+secret+`","redacted":true}]}`).want(http.StatusAccepted)
	a.post(t, "/v1/runs/"+run+"/complete", `{"fence":"`+fence+`","output":{"said":"`+secret+`"}}`).want(http.StatusOK)
	a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"run_id":%q,"agent_id":"coder","input":1}`, session, other)).want(http.StatusAccepted)

	handle := a.get(t, "/v1/decisions?session_id="+session).want(http.StatusOK).textAt("items", 0, "request", "handle")
	reads := []string{
		"/v1/sessions/" + session, "/v1/sessions/" + session + "/events", "/v1/runs/" + run, "/v1/runs/" + run + "/events", "/v1/runs/" + run + "/outputs",
		"/v1/decisions?session_id=" + session, "/v1/requests/" + handle, "/v1/runs?session_id=" + session, "/v1/effects?session_id=" + session, "/v1/audit/export?session_id=" + session,
		"/v1/audit?limit=100",
	}
	shown := 0
	for _, path := range reads {
		shown += strings.Count(a.get(t, path).want(http.StatusOK).text, secret)
	}
	require.Greater(t, shown, 20)

	for body, pointer := range map[string]string{
		`{"reason":"x"}`: "",
		`{"event_ids":["1"],"before_ms":1,"reason":"x"}`:        "",
		`{"event_ids":[],"reason":"x"}`:                         "/event_ids",
		`{"event_ids":[1],"reason":"x"}`:                        "/event_ids/0",
		`{"event_ids":["1"]}`:                                   "/reason",
		`{"event_ids":["one"],"reason":"x"}`:                    "/event_ids/0",
		`{"event_ids":["1","999"],"reason":"x"}`:                "/event_ids/1",
		`{"event_ids":["1"],"after_event_id":"1","reason":"x"}`: "/after_event_id",
	} {
		refused := a.post(t, "/v1/sessions/"+session+"/redact", body, unchecked()).refused(api.CodeInvalidRequest)
		require.Equal(t, []string{pointer}, refused.pointers(), body)
	}
	a.post(t, "/v1/sessions/nowhere/redact", `{"before_ms":1,"reason":"x"}`).refused(api.CodeSessionNotFound)
	a.post(t, "/v1/sessions/"+session+"/redact", `{"before_ms":9000000000000,"reason":"x"}`).refused(api.CodeEventNeeded)

	var ids []string
	for range a.eventTypes(t, run) {
		ids = append(ids, fmt.Sprint(len(ids)+1))
	}
	list, err := json.Marshal(ids)
	require.NoError(t, err)
	done := a.post(t, "/v1/sessions/"+session+"/redact", `{"event_ids":`+string(list)+`,"reason":"a person asked for it"}`).want(http.StatusOK)
	require.EqualValues(t, len(ids), done.at("redacted"))
	again := a.post(t, "/v1/sessions/"+session+"/redact", `{"event_ids":`+string(list)+`,"reason":"a person asked for it"}`).want(http.StatusOK)
	require.Equal(t, done.text, again.text)
	require.EqualValues(t, 0, a.post(t, "/v1/sessions/"+session+"/redact", `{"before_ms":1,"reason":"x"}`).want(http.StatusOK).at("redacted"))

	for _, path := range reads {
		got := a.get(t, path).want(http.StatusOK)
		require.NotContains(t, got.text, secret, path)
	}
	require.Contains(t, a.get(t, "/v1/runs/"+run+"/outputs").text, `"redacted":true`)
	log := a.get(t, "/v1/audit?limit=100").text
	require.Contains(t, log, "a person asked for it")

	// Past the service, which remembers the keys for a while.
	set, err := newSigning(t, a.store.(signing.Keeper)).Public(t.Context())
	require.NoError(t, err)
	keys, err := signing.NewPublic(set)
	require.NoError(t, err)
	report, err := audit.Verify(strings.NewReader(a.get(t, "/v1/audit/export?session_id="+session).want(http.StatusOK).text+"\n"), keys)
	require.NoError(t, err)
	require.EqualValues(t, len(ids), report.Redacted)
}

// A feed keeps the newest events as they were published. A stream that resumes shows them as they are now.
func TestAStreamThatResumesShowsRedactedEventsAsRedacted(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	// A poll that finds nothing would empty the feed.
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.PollInterval = time.Hour })
	run := a.claimed(t)
	path := "/v1/sessions/" + run.session
	live := a.follow(t, path+"/stream")
	from, _ := live.snapshot()
	say := func(run wantedRun, text string) frame {
		a.post(t, "/v1/runs/"+run.run+"/events", fmt.Sprintf(`{"fence":%q,"events":[{"type":"delta","text":%q}]}`, run.fence, text)).want(http.StatusAccepted)
		for {
			if one := live.event(); one.name == "delta" {
				require.Contains(t, one.data, text)
				return one
			}
		}
	}
	said := say(run, secret)
	a.post(t, "/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK)
	say(a.claimedIn(t, run.session), "hello")
	a.post(t, path+"/redact", fmt.Sprintf(`{"event_ids":["%d"],"reason":"asked for"}`, number(t, said.id))).want(http.StatusOK)

	resumed := a.follow(t, path+"/stream", header("Last-Event-ID", from)).event()
	require.Equal(t, said.id, resumed.id)
	require.NotContains(t, resumed.data, secret)
	require.Contains(t, resumed.data, `"redacted":true`)
}
