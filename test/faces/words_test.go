package faces

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// codexWords is the codex column of the vocabulary table: what codex shows for a decision on any
// face.
var codexWords = map[Verb]string{
	AllowOnce: "accept turn", AllowSession: "accept session", AllowAlways: "accept session", AllowEdited: "accept turn",
	Deny: "decline turn", Stop: "cancel turn", Answer: "accept", Decline: "decline",
}

// reasons reports whether a face accepts a reason with a verb.
func reasons(face Face, verb Verb) bool {
	return verb == Deny && face.Traits().DenyReason || verb == Stop && face.Traits().StopReason
}

// spoken is a randomly generated decision.
type spoken struct {
	kind  Kind
	face  Face
	what  Decision
	hold  bool
	among bool
}

func draw(t *rapid.T) spoken {
	one := spoken{kind: rapid.SampledFrom([]Kind{Approval, Approval, Approval, Choice, Several, Typed, Clarification}).Draw(t, "kind")}
	var faces []Face
	for _, face := range All() {
		if len(face.Verbs(one.kind)) > 0 {
			faces = append(faces, face)
		}
	}
	one.face = faces[rapid.IntRange(0, len(faces)-1).Draw(t, "face")]
	one.what = Decision{
		Verb:   rapid.SampledFrom(one.face.Verbs(one.kind)).Draw(t, "verb"),
		Reason: rapid.SampledFrom([]string{"", "not on a Friday", "\"quoted\" — ünïcode\nand a line"}).Draw(t, "reason"),
		Edit:   map[string]any{"attempt": rapid.IntRange(2, 9).Draw(t, "attempt"), "note": rapid.SampledFrom([]any{nil, true, "text", []any{1.5}}).Draw(t, "note")},
		Answers: texts(one.kind, rapid.SampledFrom([]string{"Left", "Right", "by boat"}).Draw(t, "way"),
			rapid.SampledFrom([]string{"none", "a, b", "Left"}).Draw(t, "notes"), rapid.SampledFrom([]string{"postgres", "mysql"}).Draw(t, "value")),
	}
	one.hold = rapid.Bool().Draw(t, "hold")
	one.among = rapid.Bool().Draw(t, "among others") && one.what.Verb != Stop && one.kind != Clarification
	return one
}

// testVocabulary decides on each face and reads the decision on every other. It means the same
// there, as far as the face has words for it, and the worker receives all of it.
func testVocabulary(t *testing.T, s *inProcess) {
	examples := 0
	rapid.Check(t, func(rt *rapid.T) {
		if examples++; !storetest.Thorough && examples > 25 {
			return
		}
		one := draw(rt)
		ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
		defer cancel()
		scene, err := s.Begin(ctx)
		require.NoError(rt, err)
		defer scene.Chat.Close()
		r := &reading{T: rt, Scene: scene, ctx: ctx, spoken: one}
		r.speak()
		r.readRecord()
		r.readRule()
		r.readCodex()
		r.readRelay()
		r.readHermes()
		r.readTimbal()
		r.readWorker()
	})
}

// reading is a decision that is read back.
type reading struct {
	*rapid.T
	*Scene
	spoken
	ctx      context.Context //nolint:containedctx // lives as long as one check
	prompt   Prompt
	sibling  *Prompt
	child    *Child
	recorded Resolution
}

func (r *reading) speak() {
	asked := []Asked{{Kind: r.kind, ID: "first"}}
	if r.among {
		sibling := Asked{Kind: Choice, ID: "other"}
		if r.kind == Approval {
			sibling.Kind = Approval
		}
		asked = append(asked, sibling)
	}
	if r.kind == Clarification {
		var err error
		r.prompt, r.child, err = r.Ask(r.ctx, asked[0])
		require.NoError(r, err)
	} else {
		prompts, _, err := r.Raise(r.ctx, r.hold, asked...)
		require.NoError(r, err)
		r.prompt = prompts[0]
		if r.among {
			r.sibling = &prompts[1]
		}
	}
	reply, err := r.face.Decide(r.ctx, r.Service, r.prompt, r.what, As("ada"))
	require.NoError(r, err)
	require.True(r, r.face.Took(reply), "%d %s", reply.Status, reply.Body)
}

// readRecord reads /v1's log, which contains everything.
func (r *reading) readRecord() {
	all, err := r.Recorded(r.ctx, r.prompt.RunID, r.prompt.RequestID)
	require.NoError(r, err)
	require.Len(r, all, 1)
	r.recorded = all[0]
	require.Equal(r, outcomes[r.what.Verb], r.recorded.Outcome)
	require.Equal(r, "ada", r.recorded.ResolvedBy)
	require.Equal(r, r.face.Traits().Via, r.recorded.Via)
	said := r.recorded.Reason
	if r.recorded.Justification != nil {
		said += *r.recorded.Justification
	}
	switch {
	case r.kind == Clarification && r.what.Verb == Stop:
		require.True(r, r.recorded.Declined, "a child is told no")
		if reasons(r.face, Stop) {
			require.Contains(r, said, r.what.Reason)
		}
	case reasons(r.face, r.what.Verb):
		require.Equal(r, r.what.Reason, said)
	default:
		require.Empty(r, said)
	}
	if r.kind == Approval {
		behavior := "deny"
		if r.recorded.Outcome == "allowed" {
			behavior = "allow"
		}
		require.Equal(r, behavior, r.recorded.Behavior)
	}
	if r.what.Verb == AllowEdited {
		require.JSONEq(r, encode(edited(r.prompt.Input, r.what.Edit)), string(r.recorded.UpdatedInput))
	} else {
		require.Nil(r, r.recorded.UpdatedInput)
	}
	require.Equal(r, r.what.Verb == Decline || r.kind == Clarification && r.what.Verb == Stop, r.recorded.Declined)
	if r.what.Verb != Answer {
		require.Nil(r, r.recorded.Answers)
		require.Nil(r, r.recorded.Value)
		return
	}
	if r.kind == Typed {
		require.Equal(r, encode(r.what.Answers[0]), string(r.recorded.Value))
		return
	}
	var want []RecordedAnswer
	for i, id := range r.kind.questions() {
		answer := RecordedAnswer{QuestionID: id, FreeformAnswer: r.what.Answers[i]}
		if optionID, chosen := optionsOf(id)[r.what.Answers[i]]; chosen {
			answer.SelectedOptionIDs, answer.FreeformAnswer = []string{optionID}, ""
		}
		want = append(want, answer)
	}
	require.Equal(r, want, r.recorded.Answers)
}

// readRule checks the three scopes: once creates no rule, and a remembered decision names its rule,
// which has exactly the stated scope.
func (r *reading) readRule() {
	if r.kind != Approval {
		return
	}
	if r.what.Verb != AllowSession && r.what.Verb != AllowAlways {
		require.Nil(r, r.recorded.Rule)
		require.Equal(r, "ask", r.explained(r.SessionID))
		return
	}
	require.NotNil(r, r.recorded.Rule)
	var rule struct {
		Effect          string `json:"effect"`
		SessionID       string `json:"session_id"`
		CreatedBy       string `json:"created_by"`
		CreatedAtMs     int64  `json:"created_at_ms"`
		ExpiresAtMs     int64  `json:"expires_at_ms"`
		SourceRunID     string `json:"source_run_id"`
		SourceRequestID string `json:"source_request_id"`
		Text            string `json:"text"`
	}
	require.NoError(r, r.read(r.ctx, "/v1/rules/"+r.recorded.Rule.RuleID, &rule))
	require.Equal(r, r.recorded.Rule.Text, rule.Text)
	require.NotEmpty(r, rule.Text)
	require.Equal(r, "allow", rule.Effect)
	require.Equal(r, "ada", rule.CreatedBy)
	require.Equal(r, r.RunID, rule.SourceRunID)
	require.Equal(r, r.prompt.RequestID, rule.SourceRequestID)
	require.Equal(r, "allow", r.explained(r.SessionID))
	if r.what.Verb == AllowSession {
		require.Equal(r, r.SessionID, rule.SessionID)
		require.Equal(r, "ask", r.explained("another"))
	} else {
		require.Empty(r, rule.SessionID)
		require.Equal(r, "allow", r.explained("another"))
	}
	const month = 30 * 24 * 60 * 60 * 1000
	if rule.SessionID != "" || r.face.Traits().AlwaysForever && r.what.Verb == AllowAlways {
		require.Zero(r, rule.ExpiresAtMs)
	} else {
		require.Equal(r, rule.CreatedAtMs+month, rule.ExpiresAtMs)
	}
}

// explained returns what the rules would do if the call came again.
func (r *reading) explained(sessionID string) string {
	var explanation struct {
		Decision string `json:"decision"`
	}
	body := `{"session_id":"` + sessionID + `","tool_name":"bash","input":` + r.prompt.Input + `}`
	require.NoError(r, r.write(r.ctx, "/v1/rules/explain", body, &explanation))
	return explanation.Decision
}

func (r *reading) readCodex() {
	var transcript struct {
		Data []struct {
			MessageID   string `json:"messageId"`
			Type        string `json:"type"`
			Content     string `json:"content"`
			Details     string `json:"details"`
			CompletedAt int64  `json:"completedAt"`
		} `json:"data"`
	}
	require.NoError(r, r.read(r.ctx, "/api/sessions/"+r.SessionID+"/transcript", &transcript))
	id, kind, content, handle := "tool-input-", "tool_input.resolved", "Tool input", "requestId"
	if r.kind == Approval {
		id, kind, content, handle = "approval-", "approval.resolved", "Approval", "approvalId"
	}
	found := 0
	for _, entry := range transcript.Data {
		if entry.MessageID != id+r.prompt.Handle {
			continue
		}
		found++
		decision, scope, _ := strings.Cut(codexWords[r.what.Verb], " ")
		want := map[string]any{handle: r.prompt.Handle, "status": "resolved", "decision": decision}
		if r.kind == Approval {
			want["scope"] = scope
		}
		require.Equal(r, kind, entry.Type)
		require.Equal(r, content+" resolved ("+decision+")", entry.Content)
		require.JSONEq(r, encode(want), entry.Details)
		require.Equal(r, r.recorded.ResolvedAtMs, entry.CompletedAt)
	}
	require.Equal(r, 1, found, "one entry for each prompt")
}

func (r *reading) readRelay() {
	event := "question_resolved"
	if r.kind == Approval {
		event = "relay_resolved"
	}
	frame, err := r.Chat.Await(r.ctx, func(f Frame) bool { return f.Event == event && f.ID == r.prompt.Handle })
	require.NoError(r, err)
	var shown Resolution
	require.NoError(r, json.Unmarshal(frame.Resolution, &shown))
	require.Equal(r, r.recorded, shown)
	require.NotContains(r, r.Chat.Open(), r.prompt.Handle)
	if r.kind != Approval || r.recorded.Behavior == "allow" {
		return
	}
	// The result of a denied call is sent at once.
	result, err := r.Chat.Await(r.ctx, func(f Frame) bool { return f.Event == "tool_result" && f.ID == "call-first" })
	require.NoError(r, err)
	output := map[string]any{"status": "denied"}
	if reason := r.recorded.Reason; reason != "" {
		output["reason"] = reason
	} else if r.what.Verb == Stop {
		output["reason"] = "cancelled"
	}
	var data struct {
		Output map[string]any `json:"output"`
	}
	require.NoError(r, json.Unmarshal([]byte(result.Data), &data))
	require.Equal(r, output, data.Output)
}

func (r *reading) readHermes() {
	open, err := Hermes{}.Open(r.ctx, r.Service, r.prompt)
	require.NoError(r, err)
	if r.sibling != nil {
		require.Equal(r, []string{r.sibling.Handle}, open, "the next one")
		return
	}
	require.Empty(r, open)
}

func (r *reading) readTimbal() {
	_, events, err := Timbal{}.Attach(r.ctx, r.Service, r.prompt.RunID)
	require.NoError(r, err)
	var shown []string
	for _, event := range events {
		shown = append(shown, strings.TrimSpace(event.Type+" "+event.Status.Code+" "+event.Status.Reason))
	}
	switch {
	case r.sibling != nil && r.kind == Approval:
		require.Equal(r, []string{"START", "APPROVAL", "OUTPUT cancelled approval_required"}, shown)
	case r.sibling != nil:
		require.Equal(r, []string{"START", "INTERACTION", "OUTPUT cancelled input_required"}, shown)
	case r.kind == Clarification:
		require.Equal(r, []string{"START", "OUTPUT success end_turn"}, shown)
	case r.what.Verb == Stop:
		require.Equal(r, []string{"START", "OUTPUT cancelled cancelled"}, shown)
	default:
		require.Equal(r, []string{"START"}, shown, "the run goes on")
	}
}

// readWorker checks that the worker receives everything that was recorded.
func (r *reading) readWorker() {
	if r.child != nil {
		claim, err := r.child.Take(r.ctx)
		require.NoError(r, err)
		require.NotNil(r, claim.Resume.Clarification)
		got := *claim.Resume.Clarification
		require.Equal(r, r.recorded.Declined, got.Declined)
		require.Equal(r, r.recorded.Value, got.Value)
		require.Equal(r, r.recorded.Answers, asLogged(got).Answers)
		require.Equal(r, r.recorded.RuntimePayload, got.RuntimePayload)
		return
	}
	if r.what.Verb == Stop {
		reply, err := r.Post(r.ctx, "/v1/runs/"+r.RunID+"/claim", `{"worker_id":"thief"}`)
		require.NoError(r, err)
		require.Equal(r, 409, reply.Status, "nobody goes on with what was stopped")
		return
	}
	var settled []Settled
	switch {
	case r.hold:
		var attached struct {
			Settled []Settled `json:"settled"`
		}
		require.NoError(r, r.read(r.ctx, "/v1/runs/"+r.RunID+"/resume?fence="+r.Fence+"&after=0", &attached))
		settled = attached.Settled
	default:
		if r.sibling != nil {
			verb := Decline
			if r.sibling.Kind == Approval {
				verb = Deny
			}
			_, err := Native{}.Decide(r.ctx, r.Service, *r.sibling, Decision{Verb: verb})
			require.NoError(r, err)
		}
		claim, err := r.Take(r.ctx)
		require.NoError(r, err)
		settled = slices.Concat(claim.Resume.Approvals, claim.Resume.Questions)
	}
	var found []Resolution
	for _, one := range settled {
		if one.Request.Handle == r.prompt.Handle {
			found = append(found, asLogged(one.Resolution))
		}
	}
	require.Equal(r, []Resolution{r.recorded}, found)
}
