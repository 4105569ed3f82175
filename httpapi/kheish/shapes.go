package kheish

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
)

// maxEventBytes limits the events of one reply, which /v1 returns in pages.
const maxEventBytes = 16 << 20

// capabilities lists the features that Kheish's clients ask for.
const capabilities = `{"control_plane_version":"v1","api_revision":1,"approvals":true,"sidechains":false,"mailboxes":false,
"session_events":true,"restart_restore":true,"live_events":true,"session_run_idempotency":true,"problem_details":true,
"openapi":true,"cursor_pagination":true,"paginated_lists":true,"domain_errors":true,"sse_replay":true,"typed_sse_heartbeat":true}`

// runtime says that the service runs no models.
const runtime = `{"provider":null,"model":null,"routes":[],"permission_mode":"default","system_prompt":{},"debug_level":"off"}`

// showDocument sends a fixed document to callers who may see sessions.
func showDocument(document string) shaper {
	return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		reply := askFor(next, r, "/v1/sessions", url.Values{"limit": {"1"}})
		if !reply.ok() {
			reply.send(w, reply.Body.Bytes())
			return
		}
		reply.Header().Del("Link")
		reply.send(w, []byte(document))
	}
}

// runEvents are the event types that the clients know. They stop reading at any other.
var runEvents = map[string]bool{
	"accepted": true, "queued": true, "started": true, "waiting_for_approval": true, "approval_resolved": true,
	"waiting_for_user_question": true, "user_question_resolved": true, "parent_clarification_resolved": true,
	"output": true, "completed": true, "failed": true, "interrupted": true, "cancelled": true,
}

// The statuses of waiting runs.
const (
	statusApproval = "waiting_for_approval"
	statusQuestion = "waiting_for_user_question"
)

// agentStatuses are the session statuses that the clients know by another name.
var agentStatuses = map[string]string{statusQuestion: "waiting_for_user_input", "ended": "completed"}

// decode decodes a document of /v1 without changing its numbers.
func decode(text []byte) (any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err == nil
}

func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a decoded value always encodes
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// reshape runs work on a body of /v1 in a slot of [cpulimit.Do]: decoded, a body takes up to fifty times its size.
// Callers are not known here, so all share one account. It returns the context's error when that ends first.
func reshape(ctx context.Context, bytes int, work func()) error {
	return cpulimit.Do(cpulimit.With(ctx, "kheish", cpulimit.Free), bytes, func() error {
		work()
		return nil
	})
}

// shapeViews sends the reply of /v1 with its views in the clients' shape.
func shapeViews(next http.Handler, w http.ResponseWriter, r *http.Request) {
	ask(next, r).sendShown(w, r)
}

// shownMarks occur only in replies that have to be changed.
var shownMarks = [][]byte{[]byte(`"parts"`), []byte(`"response_schema"`), []byte(`"waiting_for_user_question"`), []byte(`"call"`)}

// sendShown sends a reply with its views in the clients' shape.
func (k *kept) sendShown(w http.ResponseWriter, r *http.Request) {
	body := k.Body.Bytes()
	marked := func(mark []byte) bool { return bytes.Contains(body, mark) }
	if k.ok() && slices.ContainsFunc(shownMarks, marked) {
		err := reshape(r.Context(), len(body), func() {
			if value, ok := decode(body); ok {
				show(value)
				body = encode(value)
			}
		})
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable) // the client has disconnected
			return
		}
	}
	k.send(w, body)
}

// shownMembers are the members of views, lists and events that contain views or questions.
var shownMembers = []string{"items", "session", "run", "snapshot", "pending_questions", "request", "requests", "event"}

// show changes a view, or a list of views, into what the clients read:
//
//   - output records have no parts: workers may put anything there, and the clients read a closed list
//     of kinds;
//   - a run that waits for approvals and answers waits for approval, because the clients look for
//     approvals only then;
//   - a request for a typed value has a question;
//   - a run of kind "call" is of kind "input", because the clients read a closed list of kinds.
func show(value any) {
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			show(one)
		}
	case map[string]any:
		outputs, _ := value["outputs"].([]any)
		for _, one := range outputs {
			if record, ok := one.(map[string]any); ok {
				delete(record, "parts")
			}
		}
		if waitsForApprovals(value) && value["status"] == statusQuestion {
			value["status"] = statusApproval
			if agent, ok := value["agent"].(map[string]any); ok {
				agent["status"] = statusApproval
			}
		}
		showTyped(value)
		showKind(value)
		for _, name := range shownMembers {
			show(value[name])
		}
	}
}

// showKind replaces the kind of a run. Only a view of a run has its id: the kind of a question is the
// worker's text.
func showKind(view map[string]any) {
	if _, ofRun := view["run_id"]; !ofRun {
		return
	}
	for _, name := range []string{"kind", "run_kind"} {
		if view[name] == string(api.KindCall) {
			view[name] = string(api.KindInput)
		}
	}
}

// waitsForApprovals reports whether a view has open approvals, as a list or a count.
func waitsForApprovals(view map[string]any) bool {
	switch pending := view["pending_approvals"].(type) {
	case []any:
		return len(pending) > 0
	case json.Number:
		return pending != "0"
	}
	return false
}

// shapeSessions translates the statuses in a list of sessions, and the one that is asked for.
func shapeSessions(next http.Handler, w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for i, status := range query["status"] {
		for ours, shown := range agentStatuses {
			if status == shown {
				query["status"][i] = ours
				r.URL.RawQuery = query.Encode()
			}
		}
	}
	reply := askWaitingFirst(next, r, "session_id")
	body := reply.Body.Bytes()
	if list, ok := decode(body); ok && reply.ok() {
		for _, one := range itemsOf(list) {
			if session, ok := one.(map[string]any); ok {
				show(session)
				status, _ := session["status"].(string)
				if known, ok := agentStatuses[status]; ok {
					session["status"] = known
				}
			}
		}
		body = encode(list)
	}
	reply.send(w, body)
}

// events returns all events of a list of /v1 that the clients know, encoded, and the recorded reply: an
// error, or the one with the link to further pages.
func events(next http.Handler, r *http.Request) ([]json.RawMessage, *kept) {
	query := r.URL.Query()
	known := []json.RawMessage{}
	for size := 0; ; {
		reply := askFor(next, r, r.URL.EscapedPath(), query)
		if reply.Status == http.StatusGone && !r.URL.Query().Has("after") && query.Has("after") {
			// The log was trimmed meanwhile. Read it from its beginning.
			query.Del("after")
			known, size = known[:0], 0
			continue
		}
		page, last, ok := reply.knownEvents(r.Context())
		if !ok {
			return nil, reply
		}
		known, size = append(known, page...), size+reply.Body.Len()
		if len(reply.Header()["Link"]) == 0 || last == "" || query.Has("limit") || size > maxEventBytes {
			return known, reply
		}
		query.Set("after", last)
	}
}

// knownEvents returns the events of a page that the clients know, and the id of its last event, "" for an empty page.
// ok is false for any other reply.
func (k *kept) knownEvents(ctx context.Context) (known []json.RawMessage, last string, ok bool) {
	if !k.ok() {
		return nil, "", false
	}
	err := reshape(ctx, k.Body.Len(), func() {
		list, _ := decode(k.Body.Bytes())
		var entries []any
		entries, ok = list.([]any)
		for _, one := range entries {
			entry, _ := one.(map[string]any)
			last, _ = entry["id"].(string)
			if knownEvent(entry) && wholeEvent(entry) {
				show(entry)
				known = append(known, encode(entry))
			}
		}
	})
	return known, last, ok && err == nil
}

func knownEvent(entry map[string]any) bool {
	event, _ := entry["event"].(map[string]any)
	name, _ := event["type"].(string)
	if output, ok := event["output"].(map[string]any); ok {
		delete(output, "parts")
	}
	return runEvents[name]
}

// wholeEvent reports whether an event has every member that the clients require for its type.
// Redacted events do not, but the failure of a run is also in its view.
func wholeEvent(entry map[string]any) bool {
	event, _ := entry["event"].(map[string]any)
	if event["redacted"] != true {
		return true
	}
	switch name, _ := event["type"].(string); name {
	case "failed":
		event["error"] = "redacted"
		return true
	case "accepted", "started", "completed", "interrupted", "cancelled", "output":
		return true
	default:
		return false
	}
}

func shapeRunEvents(next http.Handler, w http.ResponseWriter, r *http.Request) {
	list, reply := events(next, r)
	if list == nil {
		reply.send(w, reply.Body.Bytes())
		return
	}
	reply.send(w, encode(list))
}

func shapeSessionEvents(next http.Handler, w http.ResponseWriter, r *http.Request) {
	session := askFor(next, r, strings.TrimSuffix(r.URL.EscapedPath(), "/events"), nil)
	var view, outputs json.RawMessage
	err := reshape(r.Context(), session.Body.Len(), func() {
		value, _ := decode(session.Body.Bytes())
		if fields, isObject := value.(map[string]any); isObject {
			show(value)
			view, outputs = encode(value), encode(fields["outputs"])
		}
	})
	if !session.ok() || view == nil || err != nil {
		session.send(w, session.Body.Bytes())
		return
	}
	list, reply := events(next, r)
	if list == nil {
		reply.send(w, reply.Body.Bytes())
		return
	}
	reply.send(w, encode(map[string]any{"session": view, "daemon_outputs": outputs, "run_events": list}))
}
