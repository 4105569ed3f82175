package relay_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/runs"
)

// leaving is a client that disconnects after the first part of a stream.
type leaving struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (l leaving) Flush() {
	l.ResponseRecorder.Flush()
	l.leave()
}

// send posts a body, and checks that the service answers in one of the ways that
// there are.
func (s *service) send(t *testing.T, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	request := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body)).WithContext(ctx)
	recorder := httptest.NewRecorder()
	s.API.Handler().ServeHTTP(leaving{recorder, cancel}, request)
	require.Contains(t, []int{200, 400, 404}, recorder.Code, "%s %q: %s", path, body, recorder.Body)
	if recorder.Code >= 400 {
		var refusal struct {
			Error string `json:"error"`
		}
		require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &refusal, json.RejectUnknownMembers(true)), "%s", recorder.Body)
		require.NotEmpty(t, refusal.Error)
	}
	return recorder
}

// v1 posts a body to the native API.
func (s *service) v1(t *testing.T, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	s.API.Handler().ServeHTTP(recorder, request)
	return recorder
}

func FuzzChat(f *testing.F) {
	for _, body := range []string{
		`{` + hello + `}`, `{` + hello + `,"detached":true,"permissions":{"allowlist":[{"tool":"a","params":{"b":"**"}}],"allowOnce":[{"tool":"a"}],"deny":[{"toolCallId":"c"}]}}`,
		`{` + hello + `,"permissions":{"deny":[{"toolCallId":"\u0000"}]}}`, `{` + hello + `,"permissions":{"allowlist":[{"tool":"\u0000","params":{"":""}}]}}`,
		`{"model":1e400,"messages":[]}`, `{"model":"\ud800","messages":[]}`, `{"model":{},"messages":"\u0000"}`, `[`, ``, `{"a":1,"a":2}`,
	} {
		f.Add(body)
	}
	s := serve(f, dialecttest.SQLite(f), relay.Options{AlwaysPrefix: true})
	f.Fuzz(func(t *testing.T, body string) { s.send(t, "/chat", body) })
}

func FuzzAnswers(f *testing.F) {
	for _, response := range []string{
		`null`, `{"approved":true}`, `{"approved":true,"always":true}`, `{"approved":false,"reason":"\u0000"}`, `{"approved":1e400}`, `[`, ``, `"\ud800"`, `{"a":1,"a":2}`, `-0`,
	} {
		f.Add("rm -rf *", "handle", response)
		f.Add("git a\x00", "%00", response)
	}
	s := serve(f, dialecttest.SQLite(f), relay.Options{AlwaysPrefix: true})
	f.Fuzz(func(t *testing.T, command, relayID, response string) {
		session, run := runs.NewID("session"), runs.NewID("run")
		made := s.v1(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"metadata":{"relay":{"run_id":%q,"detached":true}}}`, session, run))
		require.Equal(t, http.StatusCreated, made.Code, "%s", made.Body)
		text, err := json.Marshal(strings.ToValidUTF8(command, "?"))
		require.NoError(t, err)
		made = s.v1(t, "/v1/runs", fmt.Sprintf(`{"run_id":%q,"session_id":%q,"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":{"command":%s,"n":1}}]}}`, run, session, text))
		require.Equal(t, http.StatusAccepted, made.Code, "%s", made.Body)
		var view api.RunView
		require.NoError(t, json.Unmarshal(made.Body.Bytes(), &view))
		s.send(t, "/chat/relay/x"+url.PathEscape(relayID), `{"sessionId":"`+session+`","response":`+response+`}`)
		got := s.send(t, "/chat/relay/"+view.PendingApprovals[0].Handle, `{"sessionId":"`+session+`","response":`+response+`}`)
		record, err := s.Store.RequestByHandle(context.Background(), view.PendingApprovals[0].Handle)
		require.NoError(t, err)
		require.Equal(t, got.Code == http.StatusOK, !record.Request.Open())
	})
}
