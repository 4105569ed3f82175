package doctor_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/model"
)

// damage changes healthy rows in one way. want is the only expected finding, without its session
// and detail.
type damage struct {
	name string
	do   func(m *memory)
	want func(m *memory) doctor.Finding
}

// healthyRows are rows made through the door, with the ways to damage them.
type healthyRows struct {
	fill    func(t *testing.T, door runs.Door)
	damages []damage
}

var damaged = []healthyRows{{family, familyDamages}, {decided, decisionDamages}}

func about(code doctor.Code, runID, requestID string) func(*memory) doctor.Finding {
	return func(*memory) doctor.Finding { return doctor.Finding{Code: code, RunID: runID, RequestID: requestID} }
}

// aboutAsked expects a finding about the run that asks a question.
func aboutAsked(code doctor.Code, requestID string) func(*memory) doctor.Finding {
	return func(m *memory) doctor.Finding { return doctor.Finding{Code: code, RunID: m.asked(requestID)} }
}

func aboutMessage(code doctor.Code, runID, messageID string) func(*memory) doctor.Finding {
	return func(*memory) doctor.Finding { return doctor.Finding{Code: code, RunID: runID, MessageID: messageID} }
}

// body changes the document of a request in the child's session.
func body(runID, requestID string, change func(*model.Clarification)) func(*memory) {
	return func(m *memory) {
		request := m.request(runID, requestID)
		clarification := request.Clarification()
		change(&clarification)
		request.Body = document(clarification)
	}
}

func document(value any) api.JSON {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// drop turns an event into a worker's own.
func (m *memory) drop(event *model.Event) {
	event.Type, event.Body = "note", api.JSON(`{"type":"note"}`)
}

// ofRun, ofMessage and ofEffect change one row.
func ofRun(requestID string, change func(*model.Run)) func(*memory) {
	return func(m *memory) { change(m.run(m.asked(requestID))) }
}

func ofMessage(requestID string, change func(*model.Message)) func(*memory) {
	return func(m *memory) { change(m.message(requestID)) }
}

func ofEffect(kind api.EffectKind, requestID string, change func(*model.Effect)) func(*memory) {
	return func(m *memory) { change(m.effect(kind, requestID)) }
}

func effectFinding(code doctor.Code, kind api.EffectKind, requestID string) func(*memory) doctor.Finding {
	return func(m *memory) doctor.Finding {
		runID := m.asked(requestID)
		finding := doctor.Finding{Code: code, RunID: runID, EffectID: string(kind) + ":" + runID}
		if kind == api.EffectOpenClarification {
			finding.RunID = "asks"
		}
		return finding
	}
}

const (
	opening  = api.EffectOpenClarification
	delivery = api.EffectDeliverAnswer
)

var familyDamages = []damage{
	{"a clarification runs", ofRun("open", func(r *model.Run) { r.Status = api.StatusRunning }), aboutAsked(doctor.ClarificationStatusWrong, "open")},
	{"a clarification is cancelled", ofRun("told", func(r *model.Run) { r.Status = api.StatusCancelled }), aboutAsked(doctor.ClarificationStatusWrong, "told")},
	{"a clarification has lost its question", func(m *memory) {
		runID := m.asked("open")
		delete(m.states["parent"].Requests, runs.RequestKey{RunID: runID, RequestID: "open"})
		m.event(runID, api.EventWaitingForUserQuestion).Body = api.JSON(`{"type":"waiting_for_user_question","request_ids":[]}`)
	}, aboutAsked(doctor.ClarificationRequestsWrong, "open")},
	{"a clarification is claimed", ofRun("open", func(r *model.Run) { r.Fence, r.WorkerID = 1, "w" }), aboutAsked(doctor.ClarificationClaimed, "open")},
	{"a clarification is held", ofRun("open", func(r *model.Run) { r.LeaseExpiresAtMs = 5 }), aboutAsked(doctor.ClarificationClaimed, "open")},
	{"a clarification was attempted", ofRun("open", func(r *model.Run) { r.Attempt = 1 }), aboutAsked(doctor.ClarificationClaimed, "open")},
	{"a clarification takes the slot", func(m *memory) { m.states["parent"].Session.ActiveRunID = m.asked("open") }, aboutAsked(doctor.ClarificationActive, "open")},
	{"a clarification waits in an ended session", func(m *memory) {
		for runID, run := range m.states["parent"].Runs {
			if runID != m.asked("open") && !model.Terminal(run.Status) {
				m.must(&runs.CancelRun{RunID: runID})
			}
		}
		m.states["parent"].Session.EndedAtMs = 1
	}, aboutAsked(doctor.EndedSessionNotIdle, "open")},
	{"nobody is known who asks", ofRun("open", func(r *model.Run) { r.Requester = nil }), aboutAsked(doctor.RequesterUnreadable, "open")},
	{"the requester is cut", ofRun("open", func(r *model.Run) { r.Requester = r.Requester[:9] }), aboutAsked(doctor.RequesterUnreadable, "open")},
	{"the requester has no run", ofRun("open", func(r *model.Run) { r.Requester = api.JSON(`{"requester_session_id":"child"}`) }), aboutAsked(doctor.RequesterUnreadable, "open")},
	{"another run has a requester", func(m *memory) { m.run("asks").Requester = api.JSON(`{}`) }, about(doctor.RequesterMisplaced, "asks", "")},

	{"a child waits for another request", body("parks", "wait", func(c *model.Clarification) { c.WaitingOn.RequestID = "other" }), about(doctor.WaitingOnWrong, "parks", "wait")},
	{"a child waits for another session", body("parks", "wait", func(c *model.Clarification) { c.WaitingOn.SessionID = "second" }), about(doctor.WaitingOnWrong, "parks", "wait")},
	{"a clarification's body is another's", body("asks", "open", func(c *model.Clarification) { c.Request.ID = "told" }), about(doctor.RequestUnreadable, "asks", "open")},
	{"a parked clarification's body is cut", func(m *memory) {
		request := m.request("parks", "wait")
		request.Body = request.Body[:9]
	}, about(doctor.RequestUnreadable, "parks", "wait")},
	{"a child's clarification may expire", func(m *memory) { m.request("asks", "open").DueAtMs = 1 }, about(doctor.DueMisplaced, "asks", "open")},
	{"nobody asks the parent", func(m *memory) { delete(m.states["child"].Effects, m.effect(opening, "told").EffectID) }, about(doctor.ClarificationWithoutEffect, "asks", "told")},
	{"nobody brings the answer", func(m *memory) { delete(m.states["parent"].Effects, m.effect(delivery, "told").EffectID) }, aboutAsked(doctor.AnswerWithoutEffect, "told")},
	{"an answer has lost its message", func(m *memory) { delete(m.states["child"].Messages, model.MessageIDOf("told")) }, about(doctor.AnswerWithoutMessage, "asks", "told")},
	{"a declined answer has lost its message", func(m *memory) { delete(m.states["child"].Messages, model.MessageIDOf("cancelled")) }, about(doctor.AnswerWithoutMessage, "done", "cancelled")},
	{"an answer was not taken in", func(m *memory) {
		message := *m.message("told")
		message.MessageID, message.Payload = model.MessageIDOf("open"), api.JSON(`{"type":"parent_clarification_answer","request_id":"open"}`)
		m.states["child"].Messages[message.MessageID] = &message
	}, about(doctor.AnswerNotRecorded, "asks", "open")},

	{"a parked child has nothing open", func(m *memory) {
		body("parks", "wait", func(c *model.Clarification) { c.Parked = false })(m)
		m.run("parks").SuspensionID = ""
	}, about(doctor.RunWaitsForNothing, "parks", "")},
	{"a parked child goes on", func(m *memory) {
		run := m.run("parks")
		run.Status, run.ClaimableAtMs = api.StatusRunning, 1
	}, about(doctor.RunDoesNotWait, "parks", "")},
	{"a run is over with its clarification open", func(m *memory) {
		request := m.request("done", "left")
		request.Outcome, request.Resolution, request.SettledAtMs, request.SettledNumber = "", nil, 0, 0
		m.drop(m.event("done", api.EventUserQuestionResolved))
		m.run("done").SettledCount--
	}, about(doctor.RunDoesNotWait, "done", "")},
	{"a parked child waits under the other status", func(m *memory) { m.run("parks").Status = api.StatusWaitingForApproval }, about(doctor.WaitingStatusWrong, "parks", "")},
	{"a child's question was never announced", func(m *memory) { m.drop(m.event("asks", api.EventParentClarificationRequested)) }, about(doctor.RequestNotAnnounced, "asks", "open")},
	{"a child's question is announced as its own", func(m *memory) {
		m.event("parks", api.EventWaitingForUserQuestion).Body = api.JSON(`{"type":"waiting_for_user_question","request_ids":["wait"]}`)
	}, func(m *memory) doctor.Finding {
		return doctor.Finding{Code: doctor.EventWithoutRequest, RunID: "parks", RequestID: "wait", EventID: m.event("parks", api.EventWaitingForUserQuestion).EventID}
	}},
	{"a child's answer was not reported", func(m *memory) { m.drop(m.event("asks", api.EventUserQuestionResolved)) }, about(doctor.ResolutionWithoutEvent, "asks", "overdue")},
	{"a child's answer was reported as another", func(m *memory) {
		event := m.event("asks", api.EventUserQuestionResolved)
		event.Body = api.JSON(strings.Replace(string(event.Body), `"outcome":"expired"`, `"outcome":"declined"`, 1))
	}, func(m *memory) doctor.Finding {
		return doctor.Finding{Code: doctor.ResolutionEventWrong, RunID: "asks", RequestID: "overdue", EventID: m.event("asks", api.EventUserQuestionResolved).EventID}
	}},
	{"a parent's answer was not reported", func(m *memory) {
		m.event(m.asked("told"), api.EventParentClarificationResolved).Body = api.JSON(`{"type":"parent_clarification_resolved"}`)
	}, func(m *memory) doctor.Finding {
		return doctor.Finding{Code: doctor.ResolutionWithoutEvent, RunID: m.asked("told"), RequestID: "told"}
	}},
	{"a parent's answer is reported as a question's", func(m *memory) {
		event := m.event(m.asked("told"), api.EventParentClarificationResolved)
		event.Type, event.Body = api.EventUserQuestionResolved, api.JSON(strings.Replace(string(event.Body), "parent_clarification_resolved", "user_question_resolved", 1))
	}, func(m *memory) doctor.Finding {
		return doctor.Finding{Code: doctor.HistoryIllegal, RunID: m.asked("told"), EventID: m.event(m.asked("told"), api.EventUserQuestionResolved).EventID}
	}},
	{"a clarification starts", func(m *memory) {
		event := m.event(m.asked("told"), api.EventOutput)
		event.Type, event.Body = api.EventStarted, api.JSON(`{"type":"started"}`)
		run := m.run(m.asked("told"))
		run.OutputCount = 0
		m.states[run.SessionID].Session.OutputCount--
	}, func(m *memory) doctor.Finding {
		return doctor.Finding{Code: doctor.HistoryIllegal, RunID: m.asked("told"), EventID: m.event(m.asked("told"), api.EventStarted).EventID}
	}},
	{"a child reports what only a parent does", func(m *memory) {
		event := m.event("asks", api.EventStarted)
		event.Type, event.Body = api.EventParentClarificationResolved, api.JSON(`{"type":"parent_clarification_resolved"}`)
	}, func(m *memory) doctor.Finding {
		return doctor.Finding{Code: doctor.HistoryIllegal, RunID: "asks", EventID: m.event("asks", api.EventParentClarificationResolved).EventID}
	}},
	{"a clarification was allowed", func(m *memory) { m.request("asks", "told").Outcome = api.OutcomeAllowed }, about(doctor.OutcomeOfOtherKind, "asks", "told")},
	{"an expired clarification is not a declined answer", func(m *memory) {
		request := m.request(m.asked("cancelled"), "cancelled")
		request.Resolution = api.JSON(strings.Replace(string(request.Resolution), `"declined":true`, `"declined":false`, 1))
	}, func(m *memory) doctor.Finding {
		return doctor.Finding{Code: doctor.ResolutionWrong, RunID: m.asked("cancelled"), RequestID: "cancelled"}
	}},
	{"a child's answer has no moment", func(m *memory) {
		request := m.request("asks", "told")
		resolution := request.Recorded()
		resolution.ResolvedAtMs = 0
		request.Resolution = document(resolution)
	}, about(doctor.ResolutionWrong, "asks", "told")},

	{"an effect is of no kind", ofEffect(opening, "open", func(e *model.Effect) { e.Kind = "webhook" }), effectFinding(doctor.EffectUnreadable, opening, "open")},
	{"an effect's payload is cut", ofEffect(delivery, "told", func(e *model.Effect) { e.Payload = e.Payload[:9] }), effectFinding(doctor.EffectUnreadable, delivery, "told")},
	{"an effect has another id", ofEffect(delivery, "told", func(e *model.Effect) { e.EffectID = "deliver_answer:other" }), func(m *memory) doctor.Finding {
		return doctor.Finding{Code: doctor.EffectIDWrong, RunID: m.asked("told"), EffectID: "deliver_answer:other"}
	}},
	{"an opening has another id", ofEffect(opening, "open", func(e *model.Effect) { e.EffectID = "open_clarification:other" }), func(*memory) doctor.Finding {
		return doctor.Finding{Code: doctor.EffectIDWrong, RunID: "asks", EffectID: "open_clarification:other"}
	}},
	{"an effect is in no state", ofEffect(opening, "open", func(e *model.Effect) { e.State = "lost" }), effectFinding(doctor.EffectStateWrong, opening, "open")},
	{"a done effect is due", ofEffect(opening, "open", func(e *model.Effect) { e.DueAtMs = 1 }), effectFinding(doctor.EffectStateWrong, opening, "open")},
	{"a done effect has no end", ofEffect(opening, "open", func(e *model.Effect) { e.FinishedAtMs = 0 }), effectFinding(doctor.EffectStateWrong, opening, "open")},
	{"a done effect tells of an error", ofEffect(opening, "open", func(e *model.Effect) { e.LastError = "broken" }), effectFinding(doctor.EffectStateWrong, opening, "open")},
	{"a pending effect is never due", ofEffect(opening, "open", func(e *model.Effect) { e.State, e.FinishedAtMs = api.EffectPending, 0 }), effectFinding(doctor.EffectStateWrong, opening, "open")},
	{"a pending effect has an end", ofEffect(opening, "open", func(e *model.Effect) { e.State, e.DueAtMs = api.EffectPending, 1 }), effectFinding(doctor.EffectStateWrong, opening, "open")},
	{"a failed effect does not say why", ofEffect(opening, "open", func(e *model.Effect) { e.State = api.EffectFailed }), effectFinding(doctor.EffectStateWrong, opening, "open")},
	{"an effect is of nobody's run", func(m *memory) {
		effect := *m.effect(delivery, "told")
		effect.RunID, effect.EffectID = "nobody", "deliver_answer:nobody"
		m.states["parent"].Effects[effect.EffectID] = &effect
	}, func(*memory) doctor.Finding {
		return doctor.Finding{Code: doctor.EffectWithoutDecision, RunID: "nobody", EffectID: "deliver_answer:nobody"}
	}},
	{"a delivery of an answer before the answer", func(m *memory) {
		effect := *m.effect(delivery, "told")
		effect.RunID, effect.EffectID = m.asked("open"), "deliver_answer:"+m.asked("open")
		m.states["parent"].Effects[effect.EffectID] = &effect
	}, effectFinding(doctor.EffectWithoutDecision, delivery, "open")},
	{"a parent is asked what nobody asked", func(m *memory) {
		effect := *m.effect(opening, "open")
		effect.EffectID, effect.Payload = "open_clarification:x", api.JSON(`{"run_id":"x","request":{"id":"open"}}`)
		m.states["child"].Effects[effect.EffectID] = &effect
	}, func(*memory) doctor.Finding {
		return doctor.Finding{Code: doctor.EffectWithoutDecision, RunID: "asks", EffectID: "open_clarification:x"}
	}},
	{"a parent is asked for another run", func(m *memory) {
		effect := *m.effect(opening, "open")
		effect.EffectID, effect.Payload = "open_clarification:x", api.JSON(`{"run_id":"x","request":{"id":"none"}}`)
		m.states["child"].Effects[effect.EffectID] = &effect
	}, func(*memory) doctor.Finding {
		return doctor.Finding{Code: doctor.EffectWithoutDecision, RunID: "asks", EffectID: "open_clarification:x"}
	}},
	{"a parent is asked in another session", ofEffect(opening, "open", func(e *model.Effect) { e.TargetSessionID = "second" }), effectFinding(doctor.EffectWithoutDecision, opening, "open")},
	{"another child gets the answer", ofEffect(delivery, "told", func(e *model.Effect) { e.TargetSessionID = "second" }), effectFinding(doctor.EffectWithoutDecision, delivery, "told")},

	{"a message is about something else", ofMessage("told", func(m *model.Message) { m.Subject = "news" }), aboutMessage(doctor.MessageUnreadable, "asks", model.MessageIDOf("told"))},
	{"a message's payload is cut", ofMessage("told", func(m *model.Message) { m.Payload = m.Payload[:9] }), aboutMessage(doctor.MessageUnreadable, "asks", model.MessageIDOf("told"))},
	{"a message's payload is of another type", ofMessage("told", func(m *model.Message) { m.Payload = api.JSON(`{"type":"x","request_id":"told"}`) }), aboutMessage(doctor.MessageUnreadable, "asks", model.MessageIDOf("told"))},
	{"a message has another id", ofMessage("told", func(m *model.Message) { m.MessageID = "answer" }), aboutMessage(doctor.MessageIDWrong, "asks", "answer")},
	{"a message is for nobody's run", func(m *memory) {
		message := *m.message("told")
		message.RunID, message.MessageID = "nobody", model.MessageIDOf("x")
		m.states["child"].Messages[message.MessageID] = &message
	}, aboutMessage(doctor.MessageWithoutRun, "nobody", model.MessageIDOf("x"))},
	{"a message is for nobody's request", func(m *memory) {
		message := *m.message("told")
		message.MessageID, message.Payload = model.MessageIDOf("x"), api.JSON(`{"type":"parent_clarification_answer","request_id":"x"}`)
		m.states["child"].Messages[message.MessageID] = &message
	}, aboutMessage(doctor.MessageWithoutRun, "asks", model.MessageIDOf("x"))},
	{"a message is in no state", ofMessage("told", func(m *model.Message) { m.State = "lost" }), aboutMessage(doctor.MessageStateWrong, "asks", model.MessageIDOf("told"))},
	{"a pending message was acknowledged", ofMessage("told", func(m *model.Message) { m.AcknowledgedAtMs = 1 }), aboutMessage(doctor.MessageStateWrong, "asks", model.MessageIDOf("told"))},
	{"an acknowledged message never was", ofMessage("parked", func(m *model.Message) { m.AcknowledgedAtMs = 0 }), aboutMessage(doctor.MessageStateWrong, "done", model.MessageIDOf("parked"))},
	{"an acknowledged message is kept", ofMessage("parked", func(m *model.Message) { m.LeaseExpiresAtMs = 1 }), aboutMessage(doctor.MessageStateWrong, "done", model.MessageIDOf("parked"))},
	{"a pending message tells of an error", ofMessage("told", func(m *model.Message) { m.LastError = "lost" }), aboutMessage(doctor.MessageStateWrong, "asks", model.MessageIDOf("told"))},
	{"a dead letter does not say why", ofMessage("late", func(m *model.Message) { m.LastError = "" }), aboutMessage(doctor.MessageStateWrong, "done", model.MessageIDOf("late"))},
	{"a message was read less than never", ofMessage("told", func(m *model.Message) { m.DeliveryAttempts = -1 }), aboutMessage(doctor.MessageStateWrong, "asks", model.MessageIDOf("told"))},
	{"a message was read too often", ofMessage("told", func(m *model.Message) { m.DeliveryAttempts = 4 }), aboutMessage(doctor.MessageStateWrong, "asks", model.MessageIDOf("told"))},
}

// TestEachDamageIsNamed damages healthy rows in one way at a time: the doctor reports it and
// nothing else.
func TestEachDamageIsNamed(t *testing.T) {
	t.Parallel()
	for _, healthy := range damaged {
		for _, d := range healthy.damages {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				m := newMemory()
				healthy.fill(t, m)
				found, _ := examine(t, m)
				require.Empty(t, found)
				d.do(m)
				found, _ = examine(t, m)
				found = withoutHashes(found, d.want(m).Code)
				require.Len(t, found, 1, "%+v", found)
				found[0].Detail, found[0].SessionID = "", ""
				require.Equal(t, d.want(m), found[0])
			})
		}
	}
}
