package timbal_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// quickly sends a call after which the run does not continue: it waits, or the call is refused.
func (s *service) quickly(t *testing.T, body string) (status int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	response, err := s.Send(ctx, s.Client, http.MethodPost, "/stream", body)
	require.NoError(t, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(read)
}

// FuzzResumeValue sends any JSON as the value of an approval and of an interaction. No
// value is a failure of the service, and only a clear yes allows.
func FuzzResumeValue(f *testing.F) {
	for _, value := range []string{
		`true`, `false`, `null`, `"yes"`, `{"approved":true}`, `{"approved":true,"override_input":{"to":"x"}}`, `{"approved":1}`,
		`{"type":"timbal.cancel"}`, `{"type":"timbal.cancel","reason":3}`, `{"approved":true,"expires_at":1}`, `["postgres"]`,
		`{"selected":["pg",1]}`, `1e400`, `{"approved":true,"approved":false}`, `{"approved":true,"reason":"\u0000"}`,
		`{"approved":true,"override_input":{"to":"\ud800"}}`,
	} {
		f.Add(value)
	}
	s := serve(f, dialecttest.SQLite(f))
	f.Fuzz(func(t *testing.T, value string) {
		// Both stay paused, because another request of each is open too.
		made := s.do(t, http.MethodPost, "/v1/runs", `{"input":1,"suspend":{"approvals":[
			{"id":"a","tool_call_id":"c","tool_name":"b","input":{"to":"x"},"input_schema":{"type":"object","properties":{"to":{"type":"string"}}}},
			{"id":"keep","tool_call_id":"c","tool_name":"b","input":{}}],
			"questions":[{"id":"q","tool_call_id":"c","questions":[{"id":"1","question":"?","options":[{"id":"pg","label":"postgres"}]}]}]}}`)
		require.Equal(t, http.StatusAccepted, made.Status, made.Text)
		runID := made.body["run_id"].(string)
		record := s.record(t, runID)
		for _, request := range record.Requests {
			if request.RequestID == "keep" {
				continue
			}
			status, text := s.quickly(t, `{"parent_id":"`+runID+`","resume":{"`+request.Handle+`":`+value+`}}`)
			require.Less(t, status, 500, text)
			if status == http.StatusOK {
				require.Contains(t, text, `"type":"OUTPUT"`)
			}
		}
		record = s.record(t, runID)
		for _, request := range record.Requests {
			if request.Kind != model.KindApproval || request.Outcome != api.OutcomeAllowed {
				continue
			}
			var object struct {
				Approved bool `json:"approved"`
			}
			plain := strings.TrimSpace(value) == "true" || json.Unmarshal([]byte(value), &object) == nil && object.Approved
			require.True(t, plain, "%q allowed", value)
		}
	})
}

// FuzzBody sends any body.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `{"prompt":1}`, `{"context":{"id":"x"}}`, `{"context":null,"run_context":{}}`, `{"parent_id":"x","resume":{}}`,
		`{"resume":[]}`, `{"a":{"b":[1,2,{"c":null}]}}`, `{"context":{"id":""}}`, "\xff", `{"\ud800":1}`, `{"":1}`,
	} {
		f.Add(body)
	}
	s := serve(f, dialecttest.SQLite(f))
	f.Fuzz(func(t *testing.T, body string) {
		request := s.sendUntilHeader(t, body)
		require.Less(t, request.Status, 500, request.Text)
		runID := request.Header.Get("X-Run-Id")
		if request.Status != http.StatusOK {
			require.IsType(t, "", request.body["detail"], request.Text)
			return
		}
		if record, err := s.Store.ClaimedRun(t.Context(), runID); err == nil {
			require.True(t, jsontext.Value(record.Run.Input).IsValid())
			require.Equal(t, byte(0x7b), document.Kind(record.Run.Input))
		}
	})
}

// sendUntilHeader sends a body and leaves once the answer begins.
func (s *service) sendUntilHeader(t *testing.T, body string) *reply {
	t.Helper()
	response, err := s.Send(t.Context(), s.Client, http.MethodPost, "/stream", body)
	require.NoError(t, err)
	defer response.Body.Close()
	answer := &reply{Reply: &dialecttest.Reply{Status: response.StatusCode, Header: response.Header}}
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		answer.Text = string(text)
		require.NoError(t, json.Unmarshal(text, &answer.body), answer.Text)
	}
	return answer
}
