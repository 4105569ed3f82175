package kheish

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// maxEventBytes bounds the events of one reply, which /v1 has in pages.
const maxEventBytes = 16 << 20

// capabilities is what the service does of what Kheish's clients ask for.
const capabilities = `{"control_plane_version":"v1","api_revision":1,"approvals":true,"sidechains":false,"mailboxes":false,
"session_events":true,"restart_restore":true,"live_events":true,"session_run_idempotency":true,"problem_details":true,
"openapi":true,"cursor_pagination":true,"paginated_lists":true,"domain_errors":true,"sse_replay":true,"typed_sse_heartbeat":true}`

// runtime says that the service runs no models.
const runtime = `{"provider":null,"model":null,"routes":[],"permission_mode":"default","system_prompt":{},"debug_level":"off"}`

// showDocument shows a document to whoever may see the sessions.
func showDocument(document string) shaper {
	return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		reply := askFor(next, r, "/v1/sessions", url.Values{"limit": {"1"}})
		if !reply.ok() {
			reply.send(w, reply.body.Bytes())
			return
		}
		reply.header.Del("Link")
		reply.send(w, []byte(document))
	}
}

// runEvents are the types of events that the clients know; any other ends their reading.
var runEvents = map[string]bool{
	"accepted": true, "queued": true, "started": true, "waiting_for_approval": true, "approval_resolved": true,
	"waiting_for_user_question": true, "user_question_resolved": true, "parent_clarification_resolved": true,
	"output": true, "completed": true, "failed": true, "interrupted": true, "cancelled": true,
}

// agentStatuses are the statuses of sessions that the clients know by another name.
var agentStatuses = map[string]string{"waiting_for_user_question": "waiting_for_user_input", "ended": "completed"}

// decode reads a document of /v1 and keeps its numbers as they are written.
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
	_ = encoder.Encode(value) // what was decoded can be encoded
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// reshape sends the reply of a call, changed when it succeeded.
func reshape(next http.Handler, w http.ResponseWriter, r *http.Request, change func(any) any) {
	reply := ask(next, r)
	body := reply.body.Bytes()
	if reply.ok() {
		if value, ok := decode(body); ok {
			body = encode(change(value))
		}
	}
	reply.send(w, body)
}

// shapeViews sends what /v1 replies. Only outputs with parts are changed.
func shapeViews(next http.Handler, w http.ResponseWriter, r *http.Request) {
	reply := ask(next, r)
	body := reply.body.Bytes()
	if reply.ok() && bytes.Contains(body, []byte(`"parts"`)) {
		if value, ok := decode(body); ok {
			withoutParts(value)
			body = encode(value)
		}
	}
	reply.send(w, body)
}

// withoutParts takes the parts from the output records in a view, or in a list of views:
// workers may put anything there, and the clients read a closed list of kinds.
func withoutParts(value any) {
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			withoutParts(one)
		}
	case map[string]any:
		outputs, _ := value["outputs"].([]any)
		for _, one := range outputs {
			if record, ok := one.(map[string]any); ok {
				delete(record, "parts")
			}
		}
		for _, name := range []string{"items", "session", "run"} {
			withoutParts(value[name])
		}
	}
}

// shapeSessions gives the sessions of a list the statuses that the clients know.
func shapeSessions(next http.Handler, w http.ResponseWriter, r *http.Request) {
	reshape(next, w, r, func(list any) any {
		items, _ := list.([]any)
		if page, ok := list.(map[string]any); ok {
			items, _ = page["items"].([]any)
		}
		for _, one := range items {
			if session, ok := one.(map[string]any); ok {
				status, _ := session["status"].(string)
				if known, ok := agentStatuses[status]; ok {
					session["status"] = known
				}
			}
		}
		return list
	})
}

// events returns all events of a list of /v1 that the clients know, and the reply that says why
// there are none, or that has the link to what is left out.
func events(next http.Handler, r *http.Request) ([]any, *kept) {
	query := r.URL.Query()
	known := []any{}
	for size := 0; ; {
		reply := askFor(next, r, r.URL.EscapedPath(), query)
		list, decoded := decode(reply.body.Bytes())
		entries, isList := list.([]any)
		if reply.status == http.StatusGone && !r.URL.Query().Has("after") && query.Has("after") {
			// The log was shortened meanwhile. What is kept is read from its beginning.
			query.Del("after")
			known, size = known[:0], 0
			continue
		}
		if !reply.ok() || !decoded || !isList {
			return nil, reply
		}
		for _, one := range entries {
			if entry, ok := one.(map[string]any); ok && knownEvent(entry) && wholeEvent(entry) {
				known = append(known, entry)
			}
		}
		size += reply.body.Len()
		if len(reply.header["Link"]) == 0 || len(entries) == 0 || query.Has("limit") || size > maxEventBytes {
			return known, reply
		}
		last, _ := entries[len(entries)-1].(map[string]any)
		id, _ := last["id"].(string)
		query.Set("after", id)
	}
}

func knownEvent(entry map[string]any) bool {
	event, _ := entry["event"].(map[string]any)
	name, _ := event["type"].(string)
	if output, ok := event["output"].(map[string]any); ok {
		delete(output, "parts")
	}
	return runEvents[name]
}

// wholeEvent reports whether an event has what the clients must find in one of its type. What was
// redacted tells them nothing, but for how a run failed, which its view shows as well.
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
		reply.send(w, reply.body.Bytes())
		return
	}
	reply.send(w, encode(list))
}

func shapeSessionEvents(next http.Handler, w http.ResponseWriter, r *http.Request) {
	session := askFor(next, r, strings.TrimSuffix(r.URL.EscapedPath(), "/events"), nil)
	view, _ := decode(session.body.Bytes())
	fields, isObject := view.(map[string]any)
	if !session.ok() || !isObject {
		session.send(w, session.body.Bytes())
		return
	}
	list, reply := events(next, r)
	if list == nil {
		reply.send(w, reply.body.Bytes())
		return
	}
	withoutParts(view)
	reply.send(w, encode(map[string]any{"session": view, "daemon_outputs": fields["outputs"], "run_events": list}))
}
