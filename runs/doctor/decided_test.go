package doctor_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// decided creates, through the door, a session "ruled" with a run "reviewed". "by-rule" and
// "denied" were settled by rules and "by-hand" by a person; "shown" is in review; "parted" has a
// partial answer, and "whole" had one. It also adds rules of an ended session, of a future one,
// and of all.
func decided(t *testing.T, door runs.Door) {
	t.Helper()
	do := func(command runs.Command) runs.Reply {
		t.Helper()
		reply, err := door.Do(t.Context(), command)
		require.NoError(t, err, "%T", command)
		return reply
	}
	anyInput := api.RuleMatch{AnyInput: true}
	do(&runs.CreateSession{SessionID: "ended"})
	do(&runs.AddRule{SessionID: "ended", ToolName: "bash", Match: anyInput})
	do(&runs.EndSession{SessionID: "ended"})
	do(&runs.AddRule{SessionID: "to-come", ToolName: "bash", Match: anyInput})
	do(&runs.AddRule{ToolName: "rm", Effect: api.RuleDeny, Match: anyInput})
	do(&runs.AddRule{SessionID: "ruled", ToolName: "bash", Match: anyInput, MaxUses: 5})

	do(&runs.CreateRun{SessionID: "ruled", SessionGiven: true, RunID: "reviewed", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	do(&runs.AppendEvents{RunID: "reviewed", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"note"}`)}})
	suspension := approvals("by-rule", "denied", "by-hand", "shown")
	suspension.Approvals[1].ToolName = "rm"
	suspension.Approvals[2].ToolName, suspension.Approvals[3].ToolName = "file_change", "file_change"
	suspension.Questions = questions("parted", "whole").Questions
	for i := range suspension.Questions {
		suspension.Questions[i].Questions = append(suspension.Questions[i].Questions, api.UserQuestion{ID: "why", Question: "Why?"})
	}
	do(&runs.Suspend{RunID: "reviewed", Fence: 1, Suspension: suspension, ReviewRequestIDs: []string{"shown"}})
	part := func(requestID, questionID string) runs.Command {
		return &runs.AnswerQuestion{RunID: "reviewed", Partial: true, Resolution: runs.QuestionAnswer{
			RequestID: requestID, Answers: []api.UserQuestionAnswer{{QuestionID: questionID, FreeformAnswer: "so"}},
		}}
	}
	do(part("parted", "why"))
	do(part("whole", "why"))
	do(part("whole", "which"))
	do(&runs.DecideRequests{RunID: "reviewed", Approvals: []runs.ApprovalDecision{{RequestID: "by-hand", Behavior: api.BehaviorDeny}}})
}

func aboutReviewed(code doctor.Code, requestID string) func(*memory) doctor.Finding {
	return about(code, "reviewed", requestID)
}

func aboutRule(code doctor.Code, sessionID string) func(*memory) doctor.Finding {
	return func(m *memory) doctor.Finding { return doctor.Finding{Code: code, RuleID: m.rule(sessionID).RuleID} }
}

func aboutReview(code doctor.Code) func(*memory) doctor.Finding {
	return func(m *memory) doctor.Finding {
		return doctor.Finding{Code: code, RunID: "reviewed", EffectID: m.review().EffectID}
	}
}

func ofRequest(requestID string, change func(*model.Request)) func(*memory) {
	return func(m *memory) { change(m.request("reviewed", requestID)) }
}

func ofRule(sessionID string, change func(*rules.Rule)) func(*memory) {
	return func(m *memory) { change(m.rule(sessionID)) }
}

// parted replaces the partial answer of "parted".
func parted(text string) func(*memory) {
	return ofRequest("parted", func(r *model.Request) { r.PartialAnswers = api.JSON(text) })
}

// shows makes the review about something else.
func shows(before, after string) func(*memory) {
	return func(m *memory) {
		m.review().Payload = api.JSON(strings.Replace(string(m.review().Payload), before, after, 1))
	}
}

const partOfAnswer = `[{"question_id":"why","freeform_answer":"so"}]`

var decisionDamages = []damage{
	{"a request forgets its rule", ofRequest("by-rule", func(r *model.Request) { r.RuleID = "" }), aboutReviewed(doctor.ResolutionRuleWrong, "by-rule")},
	{"a request names another rule", ofRequest("denied", func(r *model.Request) { r.RuleID = "other" }), aboutReviewed(doctor.ResolutionRuleWrong, "denied")},
	{"a resolution names another rule", ofRequest("by-rule", func(r *model.Request) {
		r.Resolution = api.JSON(strings.Replace(string(r.Resolution), `"via":"rule:`, `"via":"rule:x`, 1))
	}), aboutReviewed(doctor.ResolutionRuleWrong, "by-rule")},
	{"a resolution of a rule came by a person", ofRequest("by-rule", func(r *model.Request) {
		resolution := r.Recorded()
		resolution.Via = api.ViaAPI
		r.Resolution = document(resolution)
	}), aboutReviewed(doctor.ResolutionRuleWrong, "by-rule")},
	{"a person's decision names a rule", ofRequest("by-hand", func(r *model.Request) { r.RuleID = "other" }), aboutReviewed(doctor.ResolutionRuleWrong, "by-hand")},
	{"an open request names a rule", ofRequest("shown", func(r *model.Request) { r.RuleID = "other" }), aboutReviewed(doctor.ResolutionRuleWrong, "shown")},

	{"a settled question keeps a part", ofRequest("whole", func(r *model.Request) { r.PartialAnswers = api.JSON(partOfAnswer) }), aboutReviewed(doctor.PartialAnswersMisplaced, "whole")},
	{"an approval has a part of an answer", ofRequest("shown", func(r *model.Request) { r.PartialAnswers = api.JSON(partOfAnswer) }), aboutReviewed(doctor.PartialAnswersMisplaced, "shown")},
	{"a part is cut", parted(partOfAnswer[:9]), aboutReviewed(doctor.PartialAnswersWrong, "parted")},
	{"a part is not a list", parted(`{}`), aboutReviewed(doctor.PartialAnswersWrong, "parted")},
	{"a part is empty", parted(`[]`), aboutReviewed(doctor.PartialAnswersWrong, "parted")},
	{"a part answers what was not asked", parted(`[{"question_id":"who"}]`), aboutReviewed(doctor.PartialAnswersWrong, "parted")},
	{"a part answers twice", parted(`[{"question_id":"why"},{"question_id":"why"}]`), aboutReviewed(doctor.PartialAnswersWrong, "parted")},
	{"a part is out of order", parted(`[{"question_id":"why"},{"question_id":"which"}]`), aboutReviewed(doctor.PartialAnswersWrong, "parted")},
	{"a part is the whole", parted(`[{"question_id":"which"},{"question_id":"why"}]`), aboutReviewed(doctor.PartialAnswersWrong, "parted")},
	{"who is looking is not a list", ofRequest("shown", func(r *model.Request) { r.Acknowledgement = api.JSON(`{}`) }), aboutReviewed(doctor.AcknowledgementWrong, "shown")},
	{"nobody is looking", ofRequest("shown", func(r *model.Request) { r.Acknowledgement = api.JSON(`[]`) }), aboutReviewed(doctor.AcknowledgementWrong, "shown")},
	{"an escalation's progress is a list", ofRequest("shown", func(r *model.Request) { r.EscalationState = api.JSON(`[]`) }), aboutReviewed(doctor.EscalationStateWrong, "shown")},
	{"an escalation goes on after the decision", ofRequest("denied", func(r *model.Request) { r.EscalationState = api.JSON(`{}`) }), aboutReviewed(doctor.EscalationStateWrong, "denied")},
	{"a part was told of another request", func(m *memory) {
		event := m.event("reviewed", api.EventUserQuestionAnswered)
		event.Body = api.JSON(`{"type":"user_question_answered","request_id":"shown"}`)
	}, func(m *memory) doctor.Finding {
		return doctor.Finding{
			Code: doctor.EventWithoutRequest, RunID: "reviewed", RequestID: "shown",
			EventID: m.event("reviewed", api.EventUserQuestionAnswered).EventID,
		}
	}},
	{"a part was told while nothing was asked", func(m *memory) {
		event := m.event("reviewed", "note")
		event.Type, event.Body = api.EventUserQuestionAnswered, api.JSON(`{"type":"user_question_answered","request_id":"parted"}`)
	}, func(m *memory) doctor.Finding {
		return doctor.Finding{Code: doctor.HistoryIllegal, RunID: "reviewed", EventID: m.event("reviewed", api.EventStarted).EventID + 1}
	}},

	{"a rule outlives its session", ofRule("ended", func(r *rules.Rule) { r.RevokedAtMs, r.RevokedBy = 0, "" }), aboutRule(doctor.RuleOutlivesSession, "ended")},
	{"a rule is used too often", ofRule("ruled", func(r *rules.Rule) { r.Uses = 6 }), aboutRule(doctor.RuleUsesWrong, "ruled")},
	{"a rule without a bound counts", ofRule("to-come", func(r *rules.Rule) { r.Uses = 1 }), aboutRule(doctor.RuleUsesWrong, "to-come")},
	{"a rule was used less than never", ofRule("ruled", func(r *rules.Rule) { r.Uses = -1 }), aboutRule(doctor.RuleUsesWrong, "ruled")},
	{"a rule of all sessions is bound", ofRule(rules.AllSessions, func(r *rules.Rule) { r.MaxUses = 1 }), aboutRule(doctor.RuleUsesWrong, rules.AllSessions)},
	{"a rule was revoked at no time", ofRule("to-come", func(r *rules.Rule) { r.RevokedBy = "ann" }), aboutRule(doctor.RuleRevocationWrong, "to-come")},
	{"a rule was revoked by nobody", ofRule(rules.AllSessions, func(r *rules.Rule) { r.RevokedAtMs = 1 }), aboutRule(doctor.RuleRevocationWrong, rules.AllSessions)},

	{"a review is of another approval", func(m *memory) {
		m.review().Payload = api.JSON(strings.ReplaceAll(string(m.review().Payload), `"id":"shown"`, `"id":"by-hand"`))
	}, aboutReview(doctor.EffectWithoutDecision)},
	{"a review is of no request", shows(`"id":"shown"`, `"id":"none"`), aboutReview(doctor.EffectWithoutDecision)},
	{"a review is of a question", shows(`"id":"shown"`, `"id":"parted"`), aboutReview(doctor.EffectWithoutDecision)},
	{"a review is of another handle", shows(`"handle":"`, `"handle":"x`), aboutReview(doctor.EffectIDWrong)},
	{"a review shows nothing", func(m *memory) { m.review().Payload = api.JSON(`{`) }, aboutReview(doctor.EffectUnreadable)},
}

// TestDecisionsAreHealthyOnEveryEngine checks that stored rules, partial answers and reviews
// have no findings.
func TestDecisionsAreHealthyOnEveryEngine(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			decided(t, d.store)
			found, summary := examine(t, d.inspector)
			require.Empty(t, found)
			require.Equal(t, doctor.Rows{Sessions: 2, Runs: 1, Requests: 6, Effects: 1, Rules: 4, AuditEntries: 5, IdempotencyRecords: 1, Events: summary.Rows.Events}, summary.Rows)
			run, err := d.store.Run(t.Context(), "reviewed")
			require.NoError(t, err)
			for i := range run.Requests {
				if run.Requests[i].RequestID == "denied" {
					require.Equal(t, api.OutcomeDenied, run.Requests[i].Outcome)
				}
			}
		})
	}
}
