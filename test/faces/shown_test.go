package faces

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// testShown checks what each face shows, and which prompts it can answer.
func testShown(t *testing.T, s *inProcess) {
	for name, test := range map[string]func(*testing.T, *inProcess){
		"a run of any face shows on every other":    testRunOfAnyFace,
		"a relay belongs to its chat":               testRelayOfItsChat,
		"a question is not a relay":                 testQuestionIsNoRelay,
		"a timbal id belongs to its run":            testTimbalIDOfItsRun,
		"answers in parts, on several faces":        testAnswersInParts,
		"a whole answer goes before parts":          testWholeBeforeParts,
		"without an id hermes means the oldest one": testHermesWithoutID,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// startedBy are the ways to start a run that is not a chat.
var startedBy = map[string]func(ctx context.Context, s *Service) (Reply, error){
	"v1": func(ctx context.Context, s *Service) (Reply, error) {
		return s.Post(ctx, "/v1/runs", `{"input":"go","agent_id":"default"}`)
	},
	"timbal": func(ctx context.Context, s *Service) (Reply, error) {
		reply, err := Timbal{}.Start(ctx, s, "default", `{"prompt":"go"}`)
		if err != nil {
			return reply, err
		}
		return s.Get(ctx, "/v1/runs/"+reply.Header.Get(RunIDHeader))
	},
}

func testRunOfAnyFace(t *testing.T, s *inProcess) {
	for name, begin := range startedBy {
		for _, kind := range []Kind{Approval, Choice, Several, Typed} {
			for _, face := range All() {
				if len(face.Verbs(kind)) == 0 {
					continue
				}
				t.Run(name+", "+string(kind)+", "+face.Name(), func(t *testing.T) {
					t.Parallel()
					made, err := begin(rig.Soon(t), s.Service)
					require.NoError(t, err)
					var run runView
					require.NoError(t, made.Into(&run))
					scene := &Scene{Service: s.Service, SessionID: run.SessionID, RunID: run.RunID}
					_, err = scene.Take(rig.Soon(t))
					require.NoError(t, err)
					prompts, _, err := scene.Raise(rig.Soon(t), false, Asked{Kind: kind, ID: "first"})
					require.NoError(t, err)
					for _, other := range All() {
						if other.Traits().InChat {
							continue
						}
						open, err := other.Open(rig.Soon(t), s.Service, prompts[0])
						require.NoError(t, err)
						require.Equal(t, []string{prompts[0].Handle}, open, other.Name())
					}
					got, err := face.Decide(rig.Soon(t), s.Service, prompts[0], decisionOf(kind, face.Verbs(kind)[0]))
					require.NoError(t, err)
					if face.Traits().InChat {
						// Relays exist only in chats.
						require.Equal(t, Reply{http.StatusNotFound, `{"error":"Session not found"}`, got.Header}, got)
						_, err = Native{}.Decide(rig.Soon(t), s.Service, prompts[0], decisionOf(kind, AllowOnce))
						require.NoError(t, err)
					} else {
						require.True(t, face.Took(got), "%d %s", got.Status, got.Body)
					}
					claim, err := scene.Take(rig.Soon(t))
					require.NoError(t, err)
					require.Equal(t, 1, len(claim.Resume.Approvals)+len(claim.Resume.Questions))
					require.NoError(t, scene.Complete(rig.Soon(t)))
				})
			}
		}
	}
}

func testRelayOfItsChat(t *testing.T, s *inProcess) {
	one, other := s.begin(t), s.begin(t)
	for _, scene := range []*Scene{one, other} {
		_, _, err := scene.Raise(rig.Soon(t), false, Asked{Kind: Approval, ID: "first"})
		require.NoError(t, err)
	}
	prompts := map[*Scene]string{}
	for _, scene := range []*Scene{one, other} {
		frame, err := scene.Chat.Await(rig.Soon(t), func(f Frame) bool { return f.Event == "relay" })
		require.NoError(t, err)
		prompts[scene] = frame.ID
	}
	crossed := Prompt{Kind: Approval, SessionID: one.SessionID, Handle: prompts[other]}
	got, err := Relay{}.Decide(rig.Soon(t), s.Service, crossed, Decision{Verb: AllowOnce})
	require.NoError(t, err)
	require.Equal(t, Reply{http.StatusNotFound, `{"error":"Relay not found"}`, got.Header}, got)
	// Hermes also binds an id to its session.
	crossed.SessionID = other.SessionID
	got, err = Hermes{}.Decide(rig.Soon(t), s.Service, Prompt{Kind: Approval, SessionID: one.SessionID, Handle: prompts[other]}, Decision{Verb: AllowOnce})
	require.NoError(t, err)
	require.Equal(t, "{\n  \"ok\": false,\n  \"choice\": \"once\"\n}", got.Body)
	require.Equal(t, []string{prompts[one]}, one.Chat.Open())
	require.Equal(t, []string{prompts[other]}, other.Chat.Open())
	got, err = Relay{}.Decide(rig.Soon(t), s.Service, crossed, Decision{Verb: AllowOnce})
	require.NoError(t, err)
	require.True(t, Relay{}.Took(got), "%s", got.Body)
}

func testQuestionIsNoRelay(t *testing.T, s *inProcess) {
	scene := s.begin(t)
	for _, kind := range []Kind{Choice, Several, Typed} {
		prompts, _, err := scene.Raise(rig.Soon(t), false, Asked{Kind: kind, ID: string(kind)})
		require.NoError(t, err)
		got, err := Relay{}.Decide(rig.Soon(t), s.Service, prompts[0], Decision{Verb: AllowOnce})
		require.NoError(t, err)
		require.Equal(t, Reply{http.StatusNotFound, `{"error":"Relay not found"}`, got.Header}, got)
		// The approval routes know no questions, and the question routes no approvals.
		wrong := prompts[0]
		wrong.Kind = Approval
		got, err = Codex{}.Decide(rig.Soon(t), s.Service, wrong, Decision{Verb: AllowOnce})
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, got.Status)
		open, err := Native{}.Open(rig.Soon(t), s.Service, prompts[0])
		require.NoError(t, err)
		require.Equal(t, []string{prompts[0].Handle}, open)
		_, err = Native{}.Decide(rig.Soon(t), s.Service, prompts[0], decisionOf(kind, Answer))
		require.NoError(t, err)
		_, err = scene.Take(rig.Soon(t))
		require.NoError(t, err)
	}
}

// An id that the run does not have, or that was answered before the parent began, is ignored, and
// the run pauses again.
func testTimbalIDOfItsRun(t *testing.T, s *inProcess) {
	scene, other := s.begin(t), s.begin(t)
	prompts, _, err := scene.Raise(rig.Soon(t), false, Asked{Kind: Approval, ID: "first"}, Asked{Kind: Approval, ID: "second"})
	require.NoError(t, err)
	strange, _, err := other.Raise(rig.Soon(t), false, Asked{Kind: Approval, ID: "first"})
	require.NoError(t, err)
	requirePaused := func(got Reply, open ...string) {
		t.Helper()
		events, err := TimbalFrames(got.Body)
		require.NoError(t, err)
		var shown []string
		for _, event := range events {
			if event.Type == "APPROVAL" {
				shown = append(shown, event.ApprovalID)
			}
		}
		require.Equal(t, open, shown)
		require.Equal(t, "approval_required", events[len(events)-1].Status.Reason)
		require.Contains(t, got.Body, "was ignored")
	}
	got, err := Timbal{}.Resume(rig.Soon(t), s.Service, scene.RunID, map[string]any{strange[0].Handle: true})
	require.NoError(t, err)
	requirePaused(got, prompts[0].Handle, prompts[1].Handle)

	won, err := Timbal{}.Decide(rig.Soon(t), s.Service, prompts[0], Decision{Verb: Deny, Reason: "no"})
	require.NoError(t, err)
	require.True(t, Timbal{}.Took(won), "%s", won.Body)
	again := map[string]any{prompts[0].Handle: true}
	got, err = Timbal{}.Resume(rig.Soon(t), s.Service, won.Header.Get(RunIDHeader), again)
	require.NoError(t, err)
	require.Contains(t, got.Body, "was answered before this run began")
	got, err = Timbal{}.Resume(rig.Soon(t), s.Service, scene.RunID, again)
	require.NoError(t, err)
	require.Contains(t, got.Body, "approval_already_claimed")
	open, err := Native{}.Open(rig.Soon(t), s.Service, prompts[0])
	require.NoError(t, err)
	require.Equal(t, []string{prompts[1].Handle}, open)
	open, err = Native{}.Open(rig.Soon(t), s.Service, strange[0])
	require.NoError(t, err)
	require.Equal(t, []string{strange[0].Handle}, open)
}

// Several people may answer a request's questions on several faces. No question is answered twice,
// and the run continues once, with all answers.
func testAnswersInParts(t *testing.T, s *inProcess) {
	scene := s.begin(t)
	prompts, _, err := scene.Raise(rig.Soon(t), false, Asked{Kind: Several, ID: "first"})
	require.NoError(t, err)
	prompt := prompts[0]
	_, err = scene.Chat.Await(rig.Soon(t), func(f Frame) bool { return f.Event == "question" && f.ID == prompt.Handle })
	require.NoError(t, err)
	way := `{"session_id":"` + scene.SessionID + `","clarify_id":"` + prompt.Handle + `:way","response":"Left"}`
	got, err := s.Post(rig.Soon(t), "/api/clarify/respond", way)
	require.NoError(t, err)
	require.True(t, Hermes{}.Took(got), "%s", got.Body)
	for _, face := range All() {
		if face.Traits().InChat {
			require.Equal(t, []string{prompt.Handle}, scene.Chat.Open(), "half an answer settles nothing")
			continue
		}
		open, err := face.Open(rig.Soon(t), s.Service, prompt)
		require.NoError(t, err)
		require.Equal(t, []string{prompt.Handle}, open, face.Name())
	}
	// The same question again, on this face and others.
	got, err = s.Post(rig.Soon(t), "/api/clarify/respond", way)
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, got.Status)
	require.Contains(t, got.Body, `"stale": true`)
	got, err = Timbal{}.Resume(rig.Soon(t), s.Service, scene.RunID, map[string]any{prompt.Handle + ":way": "Right"})
	require.NoError(t, err)
	require.Contains(t, got.Body, `"suspension_id":"`+prompt.Handle+`:way","status":"approval_already_claimed"`)
	// The other question on another face.
	got, err = Timbal{}.Resume(rig.Soon(t), s.Service, scene.RunID, map[string]any{prompt.Handle + ":notes": "none"}, As("bob"))
	require.NoError(t, err)
	require.True(t, Timbal{}.Took(got), "%s", got.Body)
	recorded, err := s.Recorded(rig.Soon(t), scene.RunID, "first")
	require.NoError(t, err)
	require.Len(t, recorded, 1)
	require.Equal(t, []RecordedAnswer{{QuestionID: "way", SelectedOptionIDs: []string{"left"}}, {QuestionID: "notes", FreeformAnswer: "none"}}, recorded[0].Answers)
	require.Equal(t, "bob", recorded[0].ResolvedBy)
	claim, err := scene.Take(rig.Soon(t))
	require.NoError(t, err)
	require.Len(t, claim.Resume.Questions, 1)
	require.Equal(t, "Which way?: Left\nAnything else?: none", claim.Resume.Questions[0].Resolution.Summary)
}

// A partial answer decides nothing. An answer to the whole request overrides it; the partial answer
// stays in the log.
func testWholeBeforeParts(t *testing.T, s *inProcess) {
	for _, face := range All() {
		if !Can(face, Several, Answer) || face.Traits().InParts {
			continue // these show only the remaining questions and send a partial answer
		}
		scene := s.begin(t)
		prompts, _, err := scene.Raise(rig.Soon(t), false, Asked{Kind: Several, ID: "first"})
		require.NoError(t, err)
		part := `{"session_id":"` + scene.SessionID + `","clarify_id":"` + prompts[0].Handle + `:%s","response":"Left"}`
		got, err := s.Post(rig.Soon(t), "/api/clarify/respond", fmt.Sprintf(part, "way"))
		require.NoError(t, err)
		require.True(t, Hermes{}.Took(got), "%s", got.Body)
		got, err = face.Decide(rig.Soon(t), s.Service, prompts[0], otherDecision(Several, Answer))
		require.NoError(t, err)
		require.True(t, face.Took(got), "%s", got.Body)
		got, err = s.Post(rig.Soon(t), "/api/clarify/respond", fmt.Sprintf(part, "notes"))
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, got.Status)
		recorded, err := s.Recorded(rig.Soon(t), scene.RunID, "first")
		require.NoError(t, err)
		require.Len(t, recorded, 1)
		require.Equal(t, []string{"right"}, recorded[0].Answers[0].SelectedOptionIDs)
		log, err := s.Get(rig.Soon(t), "/v1/runs/"+scene.RunID+"/events")
		require.NoError(t, err)
		require.Contains(t, log.Body, `"type":"user_question_answered","request_id":"first","question_ids":["way"]`)
	}
}

func testHermesWithoutID(t *testing.T, s *inProcess) {
	scene := s.begin(t)
	prompts, _, err := scene.Raise(rig.Soon(t), false, Asked{Kind: Approval, ID: "first"}, Asked{Kind: Approval, ID: "second"})
	require.NoError(t, err)
	for _, prompt := range prompts {
		got, err := s.Post(rig.Soon(t), "/api/approval/respond", `{"session_id":"`+scene.SessionID+`","choice":"once"}`)
		require.NoError(t, err)
		require.Equal(t, "{\n  \"ok\": true,\n  \"choice\": \"once\"\n}", got.Body)
		require.Equal(t, prompt.Handle, got.Header.Get("X-Approval-Id"), "it says which one")
	}
	got, err := s.Post(rig.Soon(t), "/api/approval/respond", `{"session_id":"`+scene.SessionID+`","choice":"once"}`)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"ok\": true,\n  \"choice\": \"once\"\n}", got.Body)
	require.Empty(t, got.Header.Get("X-Approval-Id"))
}
