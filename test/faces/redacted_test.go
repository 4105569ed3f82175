package faces

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// secret is the prefix of the texts to be redacted.
const secret = "hunter2-to-be-taken-out"

// pastScene is a finished run with a child's answered question, and what every face showed of it.
type pastScene struct {
	s               *inProcess
	session, parent string
	// taken is the text to redact in this scene only, because lists show other scenes.
	taken         string
	runID, asksID string
	handles       []string
	// eventIDs are the events of both sessions, by session.
	eventIDs map[string][]string
	// segments are the ids of the run's segments in timbal.
	segments []string
}

// testRedacted redacts events, every second one first, so that some requests lose their question
// and others their answer. No read fails on any face, none shows a prompt that cannot be answered,
// and none shows redacted text in the end.
func testRedacted(t *testing.T, s *inProcess) {
	for first := range 2 {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			p := s.past(t, fmt.Sprintf("past-%d", first))
			require.Greater(t, p.look(t), 30, "it is shown before")
			for half := range 2 {
				for session, ids := range p.eventIDs {
					var taken []string
					for i := (first + half) % 2; i < len(ids); i += 2 {
						taken = append(taken, ids[i])
					}
					got, err := s.Post(rig.Soon(t), "/v1/sessions/"+session+"/redact", encode(map[string]any{"event_ids": taken, "reason": "asked for"}))
					require.NoError(t, err)
					require.Equal(t, http.StatusOK, got.Status, got.Body)
				}
				p.requireNothingOpen(t)
				if seen := p.look(t); half == 1 {
					require.Zero(t, seen, "nothing is left of it")
				}
			}
		})
	}
}

// past creates a finished run with an approval, a question, a question to its parent's session, and
// some output.
func (s *inProcess) past(t *testing.T, id string) *pastScene {
	t.Helper()
	ctx, taken := rig.Soon(t), secret+"-"+id
	do := func(path, body string) Reply {
		t.Helper()
		got, err := s.Post(ctx, path, body)
		require.NoError(t, err)
		require.Less(t, got.Status, 300, "%s: %s", path, got.Body)
		return got
	}
	p := &pastScene{s: s, session: id, parent: id + "-parent", runID: id + "-run", taken: taken, eventIDs: map[string][]string{}}
	do("/v1/sessions", `{"session_id":"`+p.parent+`"}`)
	do("/v1/sessions", `{"session_id":"`+p.session+`","parent_session_id":"`+p.parent+`"}`)
	question := `"questions":[{"id":"one","question":"` + taken + `","allow_freeform":true,"options":[{"id":"o","label":"` + taken + `"}]}]`
	do("/v1/runs", `{"session_id":"`+p.session+`","run_id":"`+p.runID+`","agent_id":"default","input":1,"suspend":{
		"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","reason":"`+taken+`","input":{"command":"`+taken+`"}}],
		"questions":[{"id":"q","tool_call_id":"d",`+question+`}]}}`)
	timbal, _, err := Timbal{}.Attach(ctx, s.Service, p.runID)
	require.NoError(t, err)
	do("/v1/runs/"+p.runID+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","reason":"`+taken+`","updated_input":{"command":"`+taken+`"}}]}`)
	do("/v1/runs/"+p.runID+"/questions", `{"resolution":{"request_id":"q","answers":[{"question_id":"one","freeform_answer":"`+taken+`"}]}}`)
	later, _, err := Timbal{}.Attach(ctx, s.Service, p.runID)
	require.NoError(t, err)
	p.segments = []string{p.runID, timbal, later}
	claim, err := s.TakeRun(ctx, p.runID)
	require.NoError(t, err)
	fence := `{"fence":"` + claim.Lease.Fence + `"`
	do("/v1/runs/"+p.runID+"/events", fence+`,"events":[{"type":"delta","text":"`+taken+`"},{"type":"output","content":"`+taken+`"},
		{"type":"text","content":"`+taken+`"},{"type":"tool_call","name":"bash","input":"`+taken+`"},{"type":"note","text":"`+taken+`"}]}`)
	var asked struct {
		Clarification struct {
			RunID string `json:"run_id"`
		} `json:"clarification"`
	}
	require.NoError(t, do("/v1/runs/"+p.runID+"/clarifications", fence+`,"request":{"id":"up","tool_call_id":"e",`+question+`}}`).Into(&asked))
	p.asksID = asked.Clarification.RunID
	rig.Await(t, func() bool {
		got, err := s.Post(ctx, "/v1/runs/"+p.asksID+"/questions", `{"resolution":{"request_id":"up","answers":[{"question_id":"one","freeform_answer":"`+taken+`"}]}}`)
		return err == nil && got.Status < 300
	}, "the parent's session is not asked")
	var mail []struct {
		MessageID string `json:"message_id"`
	}
	rig.Await(t, func() bool {
		require.NoError(t, s.read(ctx, "/v1/sessions/"+p.session+"/mailbox", &mail))
		return len(mail) > 0
	}, "the answer does not come")
	do("/v1/sessions/"+p.session+"/mailbox/"+mail[0].MessageID+"/ack", `{}`)
	do("/v1/runs/"+p.runID+"/fail", fence+`,"error":"`+taken+`"}`)
	for _, session := range []string{p.session, p.parent} {
		var events []struct {
			ID string `json:"id"`
		}
		require.NoError(t, s.read(ctx, "/v1/sessions/"+session+"/events", &events))
		require.NotEmpty(t, events)
		for _, event := range events {
			p.eventIDs[session] = append(p.eventIDs[session], event.ID)
		}
	}
	var decided struct {
		Items []struct {
			Request struct {
				Handle string `json:"handle"`
			} `json:"request"`
		} `json:"items"`
	}
	for _, session := range []string{p.session, p.parent} {
		require.NoError(t, s.read(ctx, "/v1/decisions?session_id="+session, &decided))
		for _, one := range decided.Items {
			p.handles = append(p.handles, one.Request.Handle)
		}
	}
	require.NotEmpty(t, p.handles)
	return p
}

// look reads everything on every face and counts how often the text was seen.
func (p *pastScene) look(t *testing.T) (seen int) {
	t.Helper()
	ctx := rig.Soon(t)
	var paths []string
	for _, handle := range p.handles {
		paths = append(paths, "/v1/requests/"+handle)
	}
	for _, segment := range p.segments {
		paths = append(paths, "/runs/"+segment+"/events")
	}
	for _, base := range []string{"", "/kheish"} {
		for _, run := range []string{p.runID, p.asksID} {
			// The stream of a finished run ends by itself.
			paths = append(paths, base+"/v1/runs/"+run, base+"/v1/runs/"+run+"/events", base+"/v1/runs/"+run+"/stream?cursor=0")
		}
		for _, session := range []string{p.session, p.parent} {
			paths = append(
				paths, base+"/v1/sessions/"+session, base+"/v1/sessions/"+session+"/events", base+"/v1/runs?session_id="+session,
				base+"/v1/approvals?session_id="+session, base+"/v1/questions?session_id="+session,
			)
		}
		paths = append(paths, base+"/v1/sessions")
	}
	for _, session := range []string{p.session, p.parent} {
		paths = append(
			paths, "/v1/decisions?session_id="+session, "/v1/audit/export?session_id="+session,
			"/api/sessions/"+session+"/transcript", "/api/sessions/"+session, "/api/sessions/"+session+"/approvals", "/api/sessions/"+session+"/tool-input",
			"/api/approval/pending?session_id="+session, "/api/clarify/pending?session_id="+session,
		)
	}
	paths = append(paths, "/v1/runs/"+p.runID+"/outputs", "/v1/approvals?fields=summary", "/v1/questions?fields=summary")
	for _, path := range paths {
		got, err := p.s.Get(ctx, path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, got.Status, "%s: %s", path, got.Body)
		require.NotEmpty(t, got.Body, path)
		seen += strings.Count(got.Body, p.taken)
	}
	// The sessions' streams, from the beginning to the last event.
	for session, ids := range p.eventIDs {
		last := ids[len(ids)-1]
		stream, err := p.s.Follow(ctx, "/v1/sessions/"+session+"/stream?cursor=0")
		require.NoError(t, err)
		for next := ""; next != last; {
			_, data, err := stream.Next()
			require.NoError(t, err)
			var entry struct {
				ID string `json:"id"`
			}
			require.NoError(t, json.Unmarshal([]byte(data), &entry))
			next, seen = entry.ID, seen+strings.Count(data, p.taken)
		}
		stream.Close()
	}
	return seen
}

// requireNothingOpen checks that no face shows a finished run's prompt as open.
func (p *pastScene) requireNothingOpen(t *testing.T) {
	t.Helper()
	ctx := rig.Soon(t)
	for _, session := range []string{p.session, p.parent} {
		var transcript struct {
			Data []struct {
				Type    string `json:"type"`
				Content string `json:"content"`
			} `json:"data"`
		}
		require.NoError(t, p.s.read(ctx, "/api/sessions/"+session+"/transcript", &transcript))
		for _, entry := range transcript.Data {
			require.Regexp(t, `\.resolved$`, entry.Type)
			require.Contains(t, entry.Content, "resolved (accept)")
		}
	}
	// The segment after the last decision, as timbal's clients read it.
	var list struct {
		Events []struct {
			Data TimbalEvent `json:"data"`
		} `json:"events"`
		Done bool `json:"done"`
	}
	require.NoError(t, p.s.read(ctx, "/runs/"+p.segments[len(p.segments)-1]+"/events", &list))
	require.True(t, list.Done)
	for _, event := range list.Events {
		require.Empty(t, event.Data.ApprovalID+event.Data.InteractionID, "%+v", event)
	}
	require.Equal(t, "error", list.Events[len(list.Events)-1].Data.Status.Code)
}
