package gallery

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/faces"
	"github.com/holdpoint/holdpoint/test/rig"
)

// faces returns a client of all faces of replica i modulo their number.
func (s *service) faces(t *testing.T, i int) *faces.Service {
	t.Helper()
	return facesAt(t, s.replicas[i%len(s.replicas)].URL)
}

func facesAt(t *testing.T, url string) *faces.Service {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	return &faces.Service{URL: url, HTTP: &http.Client{Transport: transport}}
}

// scene starts a chat whose prompts every face shows, and acts as its worker.
func scene(t *testing.T, s *faces.Service) *faces.Scene {
	t.Helper()
	begun, err := s.Begin(rig.Soon(t))
	require.NoError(t, err)
	t.Cleanup(begun.Chat.Close)
	return begun
}

func raise(t *testing.T, s *faces.Scene, asked ...faces.Asked) []faces.Prompt {
	t.Helper()
	prompts, resume, err := s.Raise(rig.Soon(t), false, asked...)
	require.NoError(t, err)
	require.Nil(t, resume)
	return prompts
}

// say decides and checks whether the decision was recorded.
func say(t *testing.T, s *faces.Service, face faces.Face, about faces.Prompt, what faces.Decision, taken bool) faces.Reply {
	t.Helper()
	reply, err := face.Decide(rig.Soon(t), s, about, what)
	require.NoError(t, err)
	require.Equal(t, taken, face.Took(reply), "%s, %s: %d %s", face.Name(), what.Verb, reply.Status, reply.Body)
	return reply
}

// took claims the run again and returns the decisions.
func took(t *testing.T, s *faces.Scene) map[string]string {
	t.Helper()
	claim, err := s.Take(rig.Soon(t))
	require.NoError(t, err)
	require.NotNil(t, claim.Resume)
	decided := map[string]string{}
	for _, list := range [][]faces.Settled{claim.Resume.Approvals, claim.Resume.Questions} {
		for _, settled := range list {
			decided[settled.Request.ID] = settled.Resolution.Outcome
		}
	}
	return decided
}

// open returns the open handles in the run's view.
func open(t *testing.T, s *faces.Scene) []string {
	t.Helper()
	handles, err := faces.Native{}.Open(rig.Soon(t), s.Service, faces.Prompt{RunID: s.RunID})
	require.NoError(t, err)
	return handles
}

func lastEvent(t *testing.T, s *faces.Scene) string {
	t.Helper()
	var session struct {
		LastEventID string `json:"last_event_id"`
	}
	reply, err := s.Get(rig.Soon(t), "/v1/sessions/"+s.SessionID)
	require.NoError(t, err)
	require.NoError(t, reply.Into(&session))
	return session.LastEventID
}

// answerers are the faces that can answer questions.
func answerers() []faces.Face {
	var all []faces.Face
	for _, face := range faces.All() {
		if faces.Can(face, faces.Choice, faces.Answer) {
			all = append(all, face)
		}
	}
	return all
}

var allow = faces.Decision{Verb: faces.AllowOnce}

// Line 5 on every stream, and on a replica other than the one that raised the prompt: a prompt that
// is seen can be decided.
func TestGallery05WhoSeesAPromptOnAnyFaceCanDecideItThere(t *testing.T) {
	path := func(format string) func(context.Context, *faces.Service, *faces.Scene) (*faces.Stream, error) {
		return func(ctx context.Context, s *faces.Service, of *faces.Scene) (*faces.Stream, error) {
			return s.Follow(ctx, strings.NewReplacer("{session}", of.SessionID, "{run}", of.RunID).Replace(format))
		}
	}
	socket := func(ctx context.Context, s *faces.Service, of *faces.Scene) (*faces.Stream, error) {
		return s.Socket(ctx, of.SessionID)
	}
	resumed := func(ctx context.Context, s *faces.Service, of *faces.Scene) (*faces.Stream, error) {
		return s.FollowRun(ctx, of.RunID)
	}
	chat := func(ctx context.Context, _ *faces.Service, of *faces.Scene) (*faces.Stream, error) {
		return of.Chat.Stream(ctx), nil
	}
	streams := map[string]struct {
		kind   faces.Kind
		face   faces.Face
		follow func(context.Context, *faces.Service, *faces.Scene) (*faces.Stream, error)
	}{
		"v1 session":           {faces.Approval, faces.Native{BySession: true}, path("/v1/sessions/{session}/stream")},
		"v1 session, question": {faces.Choice, faces.Native{BySession: true}, path("/v1/sessions/{session}/stream")},
		"v1 run":               {faces.Approval, faces.Native{}, path("/v1/runs/{run}/stream")},
		"inbox":                {faces.Approval, faces.Native{}, path("/v1/stream")},
		"inbox, question":      {faces.Choice, faces.Native{}, path("/v1/stream")},
		"hermes":               {faces.Approval, faces.Hermes{}, path("/api/approval/stream?session_id={session}")},
		"hermes, question":     {faces.Choice, faces.Hermes{}, path("/api/clarify/stream?session_id={session}")},
		"codex":                {faces.Approval, faces.Codex{}, socket},
		"codex, question":      {faces.Choice, faces.Codex{}, socket},
		"timbal":               {faces.Approval, faces.Timbal{}, resumed},
		"timbal, question":     {faces.Choice, faces.Timbal{}, resumed},
		"relay":                {faces.Approval, faces.Relay{}, chat},
	}
	onServices(t, func(t *testing.T, s *service) {
		for name, one := range streams {
			for round := range 4 {
				raiser, seer := s.faces(t, 0), s.faces(t, 1+round)
				held := scene(t, seer)
				held.Service = raiser
				stream, err := one.follow(rig.Soon(t), seer, held)
				require.NoError(t, err, name)
				type raised struct {
					prompts []faces.Prompt
					err     error
				}
				done := make(chan raised, 1)
				go func() {
					prompts, _, err := held.Raise(t.Context(), false, faces.Asked{Kind: one.kind, ID: "first"})
					done <- raised{prompts, err}
				}()
				var of []string
				if strings.HasPrefix(name, "inbox") {
					of = []string{held.SessionID}
				}
				handle, err := stream.See(of...)
				require.NoError(t, err, name)
				prompt := faces.Prompt{Kind: one.kind, SessionID: held.SessionID, RunID: held.RunID, RequestID: "first", Handle: handle}
				said := faces.Decision{Verb: one.face.Verbs(one.kind)[0], Answers: []string{"Left"}}
				say(t, s.faces(t, round), one.face, prompt, said, true)
				was := <-done
				require.NoError(t, was.err, name)
				require.Equal(t, was.prompts[0].Handle, handle, name)
				require.Len(t, took(t, held), 1, name)
				stream.Close()
			}
		}
	})
}

// Line 6 on every face: two identical calls are two prompts, and a decision about one is not a
// decision about the other.
func TestGallery06IdenticalCallsOnEveryFace(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		twin := func(id string) faces.Asked {
			return faces.Asked{Kind: faces.Approval, ID: id, With: map[string]any{"tool_call_id": "call", "input": map[string]any{"command": "deploy"}}}
		}
		for _, face := range faces.All() {
			at := s.faces(t, 1)
			held := scene(t, s.faces(t, 0))
			prompts := raise(t, held, twin("left"), twin("right"))
			left, right := prompts[0], prompts[1]
			require.NotEqual(t, left.Handle, right.Handle)
			switch traits := face.Traits(); {
			case traits.InChat:
				for _, prompt := range prompts {
					_, err := held.Chat.Await(rig.Soon(t), func(f faces.Frame) bool { return f.Event == "relay" && f.ID == prompt.Handle })
					require.NoError(t, err)
				}
			case traits.OldestOnly:
				reply, err := at.Get(rig.Soon(t), "/api/approval/pending?session_id="+held.SessionID)
				require.NoError(t, err)
				require.Contains(t, reply.Body, left.Handle)
				require.Contains(t, reply.Body, `"pending_count": 2`)
			default:
				shown, err := face.Open(rig.Soon(t), at, left)
				require.NoError(t, err)
				require.Equal(t, []string{left.Handle, right.Handle}, shown, face.Name())
			}
			say(t, at, face, right, faces.Decision{Verb: faces.Deny}, true)
			require.Equal(t, []string{left.Handle}, open(t, held), face.Name())
			// Repeating the click does not decide the twin.
			say(t, at, face, right, faces.Decision{Verb: faces.Deny}, false)
			require.Equal(t, []string{left.Handle}, open(t, held), face.Name())
			say(t, at, face, left, allow, true)
			require.Equal(t, map[string]string{"left": "allowed", "right": "denied"}, took(t, held), face.Name())
		}
	})
}

// Line 9 on every face: each has its own reply to an unknown id, and none reports a decision.
func TestGallery09UnknownIDsOnEveryFace(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		held := scene(t, s.faces(t, 0))
		prompts := raise(t, held, faces.Asked{Kind: faces.Approval, ID: "first"}, faces.Asked{Kind: faces.Choice, ID: "ask"})
		before := lastEvent(t, held)
		for _, kind := range []faces.Kind{faces.Approval, faces.Choice} {
			unknown := faces.Prompt{
				Kind: kind, SessionID: held.SessionID, RunID: held.RunID, RequestID: "nothing", Handle: "request_nothing",
				Input: `{"command":"deploy"}`,
			}
			elsewhere := prompts[0]
			elsewhere.Kind, elsewhere.SessionID, elsewhere.RunID = kind, "nowhere", "nothing"
			for _, face := range faces.All() {
				for _, verb := range face.Verbs(kind) {
					what := faces.Decision{Verb: verb, Edit: map[string]any{}, Answers: []string{"Left"}}
					say(t, s.faces(t, 1), face, unknown, what, false)
					if !face.Traits().AnySession {
						got, err := face.Decide(rig.Soon(t), s.faces(t, 1), elsewhere, what)
						require.NoError(t, err)
						require.False(t, face.Took(got), "%s: %s", face.Name(), got.Body)
					}
				}
			}
		}
		at := s.faces(t, 1)
		for name, call := range map[string]struct {
			path, body string
			status     int
			reply      string
		}{
			"hermes, an approval": {
				"/api/approval/respond", `{"session_id":"` + held.SessionID + `","approval_id":"nothing","choice":"once"}`,
				200, "{\n  \"ok\": false,\n  \"choice\": \"once\"\n}",
			},
			"hermes, a question": {
				"/api/clarify/respond", `{"session_id":"` + held.SessionID + `","clarify_id":"nothing","response":"Left"}`,
				409, "{\n  \"ok\": false,\n  \"error\": \"Clarification prompt expired or not found. The agent may have already proceeded.\",\n  \"stale\": true\n}",
			},
			"codex, an approval": {
				"/api/approvals/nothing/decision", `{"decision":"accept"}`, 404, `{"status":"not_found","approvalId":"nothing"}`,
			},
			"codex, a question": {
				"/api/tool-input/nothing/decision", `{"decision":"decline"}`, 404, `{"status":"not_found","requestId":"nothing"}`,
			},
			"timbal, a run":   {"/stream", `{"parent_id":"nothing","resume":{"nothing":true}}`, 404, `{"detail":"unknown run nothing"}`},
			"timbal, a job":   {"/cancel/nothing", ``, 404, `{"error":"Job not found or already completed"}`},
			"relay, a chat":   {"/chat/relay/nothing", `{"sessionId":"nowhere","response":{"approved":true}}`, 404, `{"error":"Session not found"}`},
			"relay, a relay":  {"/chat/relay/nothing", `{"sessionId":"` + held.SessionID + `","response":{"approved":true}}`, 404, `{"error":"Relay not found"}`},
			"relay, a choice": {"/chat/relay/" + prompts[1].Handle, `{"sessionId":"` + held.SessionID + `","response":{"approved":true}}`, 404, `{"error":"Relay not found"}`},
		} {
			got, err := at.Post(rig.Soon(t), call.path, call.body)
			require.NoError(t, err, name)
			require.Equal(t, call.status, got.Status, name)
			require.Equal(t, call.reply, got.Body, name)
		}
		require.Equal(t, before, lastEvent(t, held), "a refused call must change nothing")
		require.Equal(t, []string{prompts[0].Handle, prompts[1].Handle}, open(t, held))
	})
}

// Line 11 on every face with answers: an empty answer is refused, and the question stays open and
// can be answered.
func TestGallery11EmptyAnswersOnEveryFace(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		for _, kind := range []faces.Kind{faces.Choice, faces.Typed} {
			for _, face := range answerers() {
				held := scene(t, s.faces(t, 0))
				prompt := raise(t, held, faces.Asked{Kind: kind, ID: "ask"})[0]
				before := lastEvent(t, held)
				for _, empty := range []string{"", " ", "\n\t"} {
					say(t, s.faces(t, 1), face, prompt, faces.Decision{Verb: faces.Answer, Answers: []string{empty}}, false)
				}
				for _, call := range emptyCalls(face, prompt) {
					got, err := s.faces(t, 1).Post(rig.Soon(t), call.path, call.body)
					require.NoError(t, err)
					require.Equal(t, call.status, got.Status, "%s: %s", call.body, got.Body)
					require.Contains(t, got.Body, call.says, call.body)
				}
				require.Equal(t, before, lastEvent(t, held), face.Name())
				require.Equal(t, []string{prompt.Handle}, open(t, held), face.Name())
				good := map[faces.Kind]string{faces.Choice: "Right", faces.Typed: "mysql"}[kind]
				say(t, s.faces(t, 1), face, prompt, faces.Decision{Verb: faces.Answer, Answers: []string{good}}, true)
				require.Equal(t, map[string]string{"ask": "answered"}, took(t, held), face.Name())
			}
		}
	})
}

type emptyCall struct {
	path, body string
	status     int
	says       string
}

// emptyCalls are a face's ways to send an empty answer.
func emptyCalls(face faces.Face, about faces.Prompt) []emptyCall {
	var calls []emptyCall
	switch face.(type) {
	case faces.Hermes:
		for _, members := range []string{``, `,"response":null`, `,"response":false`, `,"response":0`, `,"response":{}`, `,"response":"","answer":"Left"`} {
			calls = append(calls, emptyCall{
				"/api/clarify/respond", `{"session_id":"` + about.SessionID + `","clarify_id":"` + about.Handle + `"` + members + `}`,
				400, `"response is required"`,
			})
		}
	case faces.Codex:
		for _, members := range []string{``, `,"answers":{}`, `,"answers":{"way":{"answers":[]},"value":{"answers":[]}}`, `,"answers":{"other":{"answers":["Left"]}}`} {
			calls = append(calls, emptyCall{
				"/api/tool-input/" + about.Handle + "/decision", `{"decision":"accept"` + members + `}`, 400, `"code":"invalid_request"`,
			})
		}
	case faces.Timbal:
		for _, value := range []string{`null`, `[]`, `""`, `{"selected":[]}`, `["",""]`, `{"selected":[" ",""]}`} {
			calls = append(calls, emptyCall{
				"/stream", `{"parent_id":"` + about.RunID + `","resume":{"` + about.Handle + `":` + value + `}}`, 200, `"metadata":{"error":`,
			})
		}
	}
	return calls
}

// Line 14 on every face. The bug: a second click was queued and answered the next question. Here a
// second click with the id of the first prompt answers nothing else, whatever has been raised
// since; /v1 returns the decision.
func TestGallery14SecondClickOnEveryFace(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		for _, kind := range []faces.Kind{faces.Approval, faces.Choice, faces.Several, faces.Typed} {
			held := scene(t, s.faces(t, 0))
			current := raise(t, held, faces.Asked{Kind: kind, ID: "step-0"})[0]
			outcome := "answered"
			if kind == faces.Approval {
				outcome = "allowed"
			}
			for step, face := range faces.All() {
				if len(face.Verbs(kind)) == 0 {
					continue
				}
				what := faces.Decision{Verb: face.Verbs(kind)[0], Answers: []string{"Left", "none"}}
				if kind == faces.Typed {
					what.Answers = []string{"mysql"}
				}
				say(t, s.faces(t, step), face, current, what, true)
				require.Equal(t, map[string]string{current.RequestID: outcome}, took(t, held))
				next := raise(t, held, faces.Asked{Kind: kind, ID: fmt.Sprintf("step-%d", step+1)})[0]
				before := lastEvent(t, held)
				for _, second := range faces.All() {
					if len(second.Verbs(kind)) > 0 {
						again := what
						again.Verb = second.Verbs(kind)[0]
						reply := say(t, s.faces(t, step+1), second, current, again, false)
						if _, native := second.(faces.Native); native {
							require.Contains(t, reply.Body, `"recorded_decision":{"request_id":"`+current.RequestID+`"`)
						}
					}
				}
				require.Equal(t, before, lastEvent(t, held), "%s after %s", kind, face.Name())
				require.Equal(t, []string{next.Handle}, open(t, held))
				current = next
			}
		}
	})
}
