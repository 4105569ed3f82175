package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// reply is an answer of the service with its body as a tree.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	text   string
	body   any
}

type option func(*http.Request) *http.Request

func header(name, value string) option {
	return func(r *http.Request) *http.Request {
		r.Header.Add(name, value)
		return r
	}
}

func key(value string) option { return header("Idempotency-Key", value) }

func wait(seconds int) option { return header("Prefer", "wait="+strconv.Itoa(seconds)) }

func expecting(e expectation) option {
	return func(r *http.Request) *http.Request { return r.WithContext(withExpectation(r.Context(), e)) }
}

func inContext(ctx context.Context) option {
	return func(r *http.Request) *http.Request { return r.WithContext(ctx) }
}

// mediaType replaces the Content-Type.
func mediaType(value string) option {
	return func(r *http.Request) *http.Request {
		r.Header.Del("Content-Type")
		if value != "" {
			r.Header.Set("Content-Type", value)
		}
		return r
	}
}

// do sends a request; body is JSON text, or "" for none.
func (a *rig) do(t *testing.T, method, path, body string, options ...option) *reply {
	t.Helper()
	answer, err := a.try(t, method, path, body, options...)
	require.NoError(t, err)
	return answer
}

func (a *rig) try(t *testing.T, method, path, body string, options ...option) (*reply, error) {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, a.server.URL+path, reader)
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, apply := range options {
		request = apply(request)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	// Every JSON reply ends with a newline, which the comparison ignores.
	answer := &reply{t: t, status: response.StatusCode, header: response.Header, text: strings.TrimSuffix(string(text), "\n")}
	if kind := response.Header.Get("Content-Type"); len(text) > 0 && (strings.HasSuffix(kind, "/json") || strings.HasSuffix(kind, "+json")) {
		if err := json.Unmarshal(text, &answer.body); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	return answer, nil
}

func (a *rig) get(t *testing.T, path string, options ...option) *reply {
	t.Helper()
	return a.do(t, http.MethodGet, path, "", options...)
}

func (a *rig) post(t *testing.T, path, body string, options ...option) *reply {
	t.Helper()
	return a.do(t, http.MethodPost, path, body, options...)
}

// fillQueue fills the session's queue with concurrent calls, without comparing the replies with the
// OpenAPI document.
func (a *rig) fillQueue(t *testing.T, sessionID string) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(32)
	for range api.MaxQueuedRuns {
		group.Go(func() error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				a.server.URL+"/v1/sessions/"+sessionID+"/runs", strings.NewReader(`{"input":1}`))
			if err != nil {
				return err
			}
			request.Header.Set("Content-Type", "application/json")
			response, err := a.server.Client().Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusAccepted {
				return fmt.Errorf("status %d", response.StatusCode)
			}
			_, err = io.Copy(io.Discard, response.Body)
			return err
		})
	}
	require.NoError(t, group.Wait())
}

// want checks the status and returns the reply.
func (r *reply) want(status int) *reply {
	r.t.Helper()
	require.Equal(r.t, status, r.status, "%s", r.text)
	return r
}

// refused checks that the reply is a problem with that code.
func (r *reply) refused(code api.Code) *reply {
	r.t.Helper()
	for _, info := range wire.Codes() {
		if info.Code == code {
			require.Equal(r.t, string(code), fmt.Sprint(r.at("code")), "%s", r.text)
			return r.want(info.Status)
		}
	}
	require.Fail(r.t, "no such code", "%s", code)
	return r
}

// pointer checks the pointer of the first fault.
func (r *reply) pointer(pointer string) *reply {
	r.t.Helper()
	require.Equal(r.t, pointer, r.at("errors", 0, "pointer"), "%s", r.text)
	return r
}

// recorded checks the outcome of the recorded decision; "" wants none.
func (r *reply) recorded(outcome api.Outcome) *reply {
	r.t.Helper()
	if outcome == "" {
		require.Nil(r.t, r.at("recorded_decision"), "%s", r.text)
		return r
	}
	require.Equal(r.t, string(outcome), r.at("recorded_decision", "outcome"), "%s", r.text)
	return r
}

// at returns the value at a path of names and indexes, or nil.
func (r *reply) at(path ...any) any {
	at := r.body
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := at.(map[string]any)
			at = object[step]
		case int:
			array, _ := at.([]any)
			if step >= len(array) {
				return nil
			}
			at = array[step]
		}
	}
	return at
}

// text returns the text at a path, and fails if there is none.
func (r *reply) textAt(path ...any) string {
	r.t.Helper()
	text, ok := r.at(path...).(string)
	require.True(r.t, ok, "%v in %s", path, r.text)
	return text
}

// list returns the array at a path.
func (r *reply) list(path ...any) []any {
	r.t.Helper()
	array, ok := r.at(path...).([]any)
	require.True(r.t, ok, "%v in %s", path, r.text)
	return array
}

// approval is one approval of a suspension as JSON.
func approval(id string) string {
	return fmt.Sprintf(`{"id":%q,"tool_call_id":"call-%s","tool_name":"bash","input":{"command":"rm -rf build"}}`, id, id)
}

// question is one question of a suspension as JSON: one choice of two, and one of
// many with free text.
func question(id string) string {
	return fmt.Sprintf(`{"id":%q,"tool_call_id":"call-%s","questions":[
		{"id":"route","header":"Route","question":"Which route?","multi_select":false,"allow_freeform":true,"options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
		{"id":"notes","question":"Notes?","multi_select":true,"allow_freeform":true,"options":[{"id":"x","label":"X"},{"id":"y","label":"Y"}]}]}`, id, id)
}

// goodAnswers answer the question above.
const goodAnswers = `[{"question_id":"route","selected_option_ids":["a"]},{"question_id":"notes","freeform_answer":"fast"}]`

// wantedRun has the ids of one test's run.
type wantedRun struct{ session, run, fence string }

// waiting creates an unattached run that waits for the suspension's members.
func (a *rig) waiting(t *testing.T, members string) wantedRun {
	t.Helper()
	made := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","suspend":{%s}}`, a.name("session"), members)).want(http.StatusAccepted)
	return wantedRun{session: made.textAt("session_id"), run: made.textAt("run_id")}
}

// claimed creates a run and claims it.
func (a *rig) claimed(t *testing.T) wantedRun {
	t.Helper()
	made := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","claim":{"worker_id":"w1","lease_ms":3600000}}`, a.name("session"))).want(http.StatusAccepted)
	return wantedRun{session: made.textAt("run", "session_id"), run: made.textAt("run", "run_id"), fence: made.textAt("lease", "fence")}
}

// attached creates a run whose worker waits in place.
func (a *rig) attached(t *testing.T, members string) wantedRun {
	t.Helper()
	made := a.post(t, "/v1/runs", fmt.Sprintf(
		`{"session_id":%q,"input":"go","claim":{"worker_id":"w1","lease_ms":60000},"suspend":{"hold":true,%s}}`,
		a.name("session"), members)).want(http.StatusAccepted)
	return wantedRun{session: made.textAt("run", "session_id"), run: made.textAt("run", "run_id"), fence: made.textAt("lease", "fence")}
}

func allow(ids ...string) string { return resolutions("allow", ids...) }

func deny(ids ...string) string { return resolutions("deny", ids...) }

func resolutions(behavior string, ids ...string) string {
	items := make([]string, len(ids))
	for i, id := range ids {
		items[i] = fmt.Sprintf(`{"request_id":%q,"behavior":%q}`, id, behavior)
	}
	return `{"resolutions":[` + strings.Join(items, ",") + `]}`
}

func answer(id, members string) string {
	return fmt.Sprintf(`{"resolution":{"request_id":%q,%s}}`, id, members)
}

// unchecked sends bytes that the schema cannot judge, because JSON libraries disagree about them.
func unchecked() option { return expecting(noOpinion) }
