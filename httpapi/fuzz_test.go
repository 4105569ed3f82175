package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
)

// target is a service without a network around it, for input that no client would
// send.
type target struct{ handler http.Handler }

func newTarget(f *testing.F) *target {
	f.Helper()
	a := serve(f, openSQLite(f), nil, func(o *httpapi.Options) {
		o.Limits.MaxWait, o.Limits.InputWait = time.Millisecond, time.Millisecond
	})
	return &target{handler: a.handler.Handler()}
}

// send sends a request whatever it holds, and checks that the service answers, that
// the failure is not its own, and that every refusal is a problem document.
func (s *target) send(t *testing.T, method string, address *url.URL, header http.Header, body string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	request := (&http.Request{
		Method: method, URL: address, Host: "localhost", Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: http.NoBody, ContentLength: int64(len(body)),
	}).WithContext(ctx)
	if body != "" {
		request.Body = readCloser{strings.NewReader(body)}
	}
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(leaving{recorder, cancel}, request)
	require.Less(t, recorder.Code, 500, "%s %s %q: %s", method, address, body, recorder.Body)
	if recorder.Code >= 400 {
		var problem api.Problem
		require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &problem), "%s", recorder.Body)
		require.Equal(t, recorder.Code, problem.Status)
	}
	return recorder
}

// leaving is a caller who disconnects after the first part of a stream.
type leaving struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (l leaving) Flush() {
	l.ResponseRecorder.Flush()
	l.leave()
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func (s *target) post(t *testing.T, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	return s.send(t, http.MethodPost, &url.URL{Path: path}, http.Header{"Content-Type": {"application/json"}}, body)
}

// made creates a run in a new session and returns both ids.
func (s *target) made(t *testing.T, members string) (session, run, fence string) {
	t.Helper()
	recorder := s.post(t, "/v1/runs", `{"input":1,`+members+`}`)
	var answer struct {
		RunID     string `json:"run_id"`
		SessionID string `json:"session_id"`
		Run       struct {
			RunID     string `json:"run_id"`
			SessionID string `json:"session_id"`
		} `json:"run"`
		Lease struct {
			Fence string `json:"fence"`
		} `json:"lease"`
	}
	require.Equal(t, http.StatusAccepted, recorder.Code, "%s", recorder.Body)
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &answer))
	return answer.SessionID + answer.Run.SessionID, answer.RunID + answer.Run.RunID, answer.Lease.Fence
}

func FuzzBodies(f *testing.F) {
	posts := []string{}
	for _, o := range operations(f) {
		if o.method == http.MethodPost {
			f.Add(len(posts), o.body)
			posts = append(posts, o.path)
		}
	}
	for i, body := range []string{
		`{"input":{"a":[1,2,{"b":null}]},"claim":{"worker_id":"w"},"suspend":{"hold":true,"approvals":[` + approval("a") + `]}}`,
		`{"fence":"1","hold":true,"approvals":[` + approval("b") + `],"questions":[` + question("q") + `],"checkpoint":1,"settled_after":0}`,
		`{"resolutions":[{"request_id":"a","behavior":"allow","updated_input":{"x":1e2}}],"idempotency_key":"k"}`,
		answer("q", `"answers":`+goodAnswers), answer("q", `"value":"\u0000"`),
		`{"fence":"1","park":true,"request":` + question("p") + `,"requester_project_ids":["\u0000"]}`,
		`{"fence":"1","events":[{"type":"output","content":"x","parts":[[]]}]}`,
		`{"resolution":{"request_id":"\u0000"}}`, `{"resolutions":[{"request_id":"\u0000","behavior":"deny"}]}`,
		`{"worker_id":"w","max_runs":9223372036854775807,"wait_ms":9223372036854775807}`,
		`{"fence":"9223372036854775807","lease_ms":-9223372036854775808}`, `{"input":1e400}`, `{"input":"\ud800"}`, `[`, ``,
	} {
		f.Add(i, body)
	}
	service := newTarget(f)
	f.Fuzz(func(t *testing.T, which int, body string) {
		session, run, _ := service.made(t, `"claim":{"worker_id":"w"},"suspend":{"hold":true,"approvals":[`+approval("a")+`],"questions":[`+question("q")+`]}`)
		path := posts[uint(which)%uint(len(posts))]
		path = strings.NewReplacer("sessions/nobody", "sessions/"+session, "runs/nobody", "runs/"+run).Replace(path)
		service.post(t, path, body)
		service.send(t, http.MethodGet, &url.URL{Path: "/v1/sessions/" + session}, nil, "")
		service.send(t, http.MethodGet, &url.URL{Path: "/v1/runs/" + run + "/events"}, nil, "")
	})
}

func FuzzKeys(f *testing.F) {
	for _, k := range []string{"k", `"k"`, `"a\"b"`, `"`, `""`, " ", "\x00", "\xff", "é", strings.Repeat("k", 257), "a\nb", `"a\`} {
		f.Add(k, k, "mara")
		f.Add(k, "k", "\xff")
	}
	service := newTarget(f)
	f.Fuzz(func(t *testing.T, inHeader, inBody, actor string) {
		body, err := json.Marshal(map[string]any{"input": 1, "idempotency_key": strings.ToValidUTF8(inBody, "?")})
		require.NoError(t, err)
		header := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {inHeader}, "X-Actor": {actor}}
		first := service.send(t, http.MethodPost, &url.URL{Path: "/v1/runs"}, header, string(body))
		again := service.send(t, http.MethodPost, &url.URL{Path: "/v1/runs"}, header, string(body))
		require.Equal(t, first.Code, again.Code)
		if first.Code == http.StatusAccepted {
			require.Equal(t, "true", again.Header().Get("Idempotency-Replayed"))
		}
	})
}

func FuzzQueries(f *testing.F) {
	for _, query := range []string{
		"limit=1", "page=true&limit=2", "cursor=ci8xL2E", "cursor=", "cursor=%00", "limit=%FF&page=x", "after=1&limit=1", "after=-1",
		"status=queued&agent_id=a&session_id=%00", "fence=1&after=2", "until=terminal", "priority_active=true&cursor=cC90cnVlLzEvYQ", "%zz", "a;b",
	} {
		for which := range 4 {
			f.Add(which, query)
		}
	}
	service := newTarget(f)
	gets := []string{}
	for _, o := range operations(f) {
		if o.method == http.MethodGet {
			path, _, _ := strings.Cut(o.path, "?")
			gets = append(gets, path)
		}
	}
	f.Fuzz(func(t *testing.T, which int, query string) {
		for _, path := range []string{gets[uint(which)%uint(len(gets))], "/v1/runs", "/v1/approvals", "/v1/sessions"} {
			service.send(t, http.MethodGet, &url.URL{Path: path, RawQuery: query}, http.Header{"Prefer": {query}}, "")
		}
	})
}

func FuzzIDs(f *testing.F) {
	for _, id := range []string{"a", ".", "..", "a/b", "%", "%00", "\x00", "\xff", "é", "claim", strings.Repeat("x", 201), "a%2Fb", "{}", "*"} {
		for which := range 3 {
			f.Add(which*11, id)
		}
	}
	service, all := newTarget(f), operations(f)
	f.Fuzz(func(t *testing.T, which int, id string) {
		o := all[uint(which)%uint(len(all))]
		path, query, _ := strings.Cut(o.path, "?")
		path = strings.ReplaceAll(path, "nobody", id)
		header := http.Header{"Content-Type": {"application/json"}}
		service.send(t, o.method, &url.URL{Path: path, RawPath: (&url.URL{Path: path}).EscapedPath(), RawQuery: query}, header, o.body)
		service.send(t, o.method, &url.URL{Path: path, RawQuery: query}, header, o.body)
		body, err := json.Marshal(map[string]any{"session_id": strings.ToValidUTF8(id, "?"), "run_id": strings.ToValidUTF8(id, "?"), "input": 1})
		require.NoError(t, err)
		service.post(t, "/v1/runs", string(body))
	})
}

func FuzzSchemas(f *testing.F) {
	for _, schema := range []string{
		`{}`, `true`, `false`, `null`, `7`, `{"type":"object","required":["n"]}`, `{"type":"nothing"}`, `{"$ref":"#"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}`,
		`{"$ref":"file:///etc/passwd"}`, `{"$ref":"http://127.0.0.1:1/x"}`, `{"pattern":"("}`, `{"pattern":"(a+)+$"}`, `{"multipleOf":0}`, `{"minLength":-1}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"$schema":"nowhere"}`, `{"$id":"x","$anchor":"a"}`, `{"allOf":[{"$ref":"#"}]}`, `{"const":1e400}`,
		`{"$dynamicRef":"#x"}`, `{"unevaluatedProperties":false,"properties":{"n":{}}}`, `{"format":"date-time"}`, `{"enum":[]}`,
	} {
		for _, value := range []string{`{"n":1}`, `"aaaaaaaaaaaaaaaaaaaaaaaa!"`, `null`, `[[]]`, `1.5`} {
			f.Add(schema, value)
		}
	}
	service := newTarget(f)
	f.Fuzz(func(t *testing.T, schema, value string) {
		for kind, members := range map[string]string{
			"approvals": `{"id":"r","tool_call_id":"c","tool_name":"t","input":1,"input_schema":` + schema + `}`,
			"questions": `{"id":"r","response_schema":` + schema + `}`,
		} {
			made := service.post(t, "/v1/runs", `{"input":1,"suspend":{"`+kind+`":[`+members+`]}}`)
			if made.Code != http.StatusAccepted {
				continue
			}
			var view struct {
				RunID string `json:"run_id"`
			}
			require.NoError(t, json.Unmarshal(made.Body.Bytes(), &view))
			path := fmt.Sprintf("/v1/runs/%s/", view.RunID)
			service.post(t, path+"approvals", `{"resolutions":[{"request_id":"r","behavior":"allow","updated_input":`+value+`}]}`)
			service.post(t, path+"questions", `{"resolution":{"request_id":"r","value":`+value+`}}`)
			service.post(t, path+"claim", `{"worker_id":"w"}`)
		}
	})
}

// BenchmarkSmallRequests measures the cost of the layers above the store.
func BenchmarkSmallRequests(b *testing.B) {
	a := serve(b, openSQLite(b), nil)
	handler := a.handler.Handler()
	for name, o := range map[string]operation{
		"get livez":    {method: "GET", path: "/livez"},
		"post refused": {method: "POST", path: "/v1/runs/nobody/heartbeat", body: `{"fence":"01"}`},
		"post run":     {method: "POST", path: "/v1/sessions/s/runs", body: `{"input":{"command":"rm -rf build"},"run_id":"same"}`},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					request := httptest.NewRequest(o.method, "http://localhost"+o.path, strings.NewReader(o.body))
					request.Header.Set("Content-Type", "application/json")
					recorder := httptest.NewRecorder()
					handler.ServeHTTP(recorder, request)
					if recorder.Code >= 500 {
						b.Error(strconv.Itoa(recorder.Code))
					}
				}
			})
		})
	}
}
