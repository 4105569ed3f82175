package doctor

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// request has the parts of a request that other rows' checks need. Documents, which may be
// large, are dropped.
type request struct {
	runs.RequestKey
	kind    model.RequestKind
	outcome api.Outcome
	handle  string
	// recorded is the outcome in the resolution.
	recorded api.Outcome
	// announced and resolved count the events that raise the request and report its resolution.
	announced, resolved int
	// The rest is about a clarification: the run in the parent's session, whether the child's
	// run is parked on it, whether its resolution came from the parent's session, and whether
	// its body is unreadable.
	clarificationRunID string
	parked             bool
	fromParent         bool
	unreadable         bool
}

func (q *request) at() Finding { return Finding{RunID: q.RunID, RequestID: q.RequestID} }

// requestRow is a request with its documents.
type requestRow struct {
	*model.Request
	of *run // nil if the session does not have it
	// readable: the body is the JSON of a request of its kind with its id.
	readable      bool
	question      api.UserQuestionRequest
	clarification model.Clarification
	// resolution is nil if the row has none or it is unreadable.
	resolution *api.Resolution
}

// readRequest reads the documents of a row. If a clarification's body does not say whether it is
// parked, the run's suspension does.
func (e *examiner) readRequest(row *model.Request) (*requestRow, *request) {
	full := &requestRow{Request: row, of: e.runs[row.RunID]}
	known := &request{
		RequestKey: runs.RequestKey{RunID: row.RunID, RequestID: row.RequestID}, kind: row.Kind, outcome: row.Outcome, handle: row.Handle,
	}
	var approval api.ApprovalRequest
	switch row.Kind {
	case model.KindQuestion:
		full.readable = json.Unmarshal(row.Body, &full.question) == nil && full.question.ID == row.RequestID
	case model.KindClarification:
		full.readable = json.Unmarshal(row.Body, &full.clarification) == nil && full.clarification.Request.ID == row.RequestID
		known.unreadable = !full.readable
		known.parked, known.clarificationRunID = full.clarification.Parked, full.clarification.WaitingOn.RunID
		if !full.readable {
			known.parked, known.clarificationRunID = full.of != nil && row.SuspensionID == full.of.SuspensionID, ""
		}
	case model.KindApproval:
		full.readable = json.Unmarshal(row.Body, &approval) == nil && approval.ID == row.RequestID
	default:
		full.readable = json.Unmarshal(row.Body, &approval) == nil && approval.ID == row.RequestID
	}
	var resolution api.Resolution
	if row.Resolution != nil && json.Unmarshal(row.Resolution, &resolution) == nil {
		full.resolution = &resolution
		known.recorded = resolution.Outcome
		known.fromParent = row.Outcome == api.OutcomeAnswered || resolution.Declined != nil && *resolution.Declined
	}
	return full, known
}

func article(kind model.RequestKind) string {
	switch kind {
	case model.KindApproval:
		return "an approval with its id"
	case model.KindClarification:
		return "a clarification with its id"
	case model.KindQuestion:
	}
	return "a question with its id"
}

// requestInvariants are checked for each request on its own.
var requestInvariants = table[*requestRow]{
	{fatal(RequestWithoutRun, "The session does not have the request's run.", func(_ *examiner, q *requestRow) string {
		return unless(q.of != nil, "the session does not have the run")
	})},
	{invariant(RequestUnreadable, "The body is not the JSON of the request.", func(_ *examiner, q *requestRow) string {
		return unless(q.readable, "the body is not the JSON of %s", article(q.Kind))
	})},
	{invariant(WaitingOnWrong, "The child's request waits for another request than its own, or for another session than its parent.", func(e *examiner, q *requestRow) string {
		on := q.clarification.WaitingOn
		right := on.RequestID == q.RequestID && on.RunID != "" && on.SessionID == e.parentSessionID
		return when(q.Kind == model.KindClarification && q.readable && !right,
			"the request waits for request %q of run %q in session %q, but the session's parent is %q", on.RequestID, on.RunID, on.SessionID, e.parentSessionID)
	})},
	{invariant(DueMisplaced, "The child's request has a `due_at_ms`. The deadline is the parent's.", func(_ *examiner, q *requestRow) string {
		return when(q.Kind == model.KindClarification && q.readable && q.Open() && q.DueAtMs != 0, "due_at_ms is %d, but the deadline is the parent's", q.DueAtMs)
	})},
	{
		invariant(PartialAnswersMisplaced, "A settled request, or one that is not a question, has a partial answer.", func(_ *examiner, q *requestRow) string {
			misplaced := q.PartialAnswers != nil && (q.Kind != model.KindQuestion || !q.Open())
			return when(misplaced, "%s with outcome %q has a partial answer", article(q.Kind), q.Outcome)
		}),
		invariant(PartialAnswersWrong, "The partial answer cannot be read, is complete, or does not answer questions of the request once and in their order.", partialAnswersWrong),
	},
	{invariant(AcknowledgementWrong, "The people who are looking at the request or snooze it cannot be read, or there are too many of them.", func(_ *examiner, q *requestRow) string {
		var list []api.Acknowledgement
		wrong := q.Acknowledgement != nil && (json.Unmarshal(q.Acknowledgement, &list) != nil || len(list) == 0 || len(list) > api.MaxAcknowledgements+api.MaxSnoozes)
		return when(wrong, "the acknowledgement is not the JSON of a list of 1 to %d people", api.MaxAcknowledgements+api.MaxSnoozes)
	})},
	{invariant(EscalationStateWrong, "The progress of notifying people cannot be read, or the request was settled.", func(_ *examiner, q *requestRow) string {
		var state model.EscalationState
		wrong := q.EscalationState != nil && (!q.Open() || json.Unmarshal(q.EscalationState, &state) != nil)
		return when(wrong, "the escalation state is not the JSON of an open request's progress")
	})},
	{invariant(DueAfterSettled, "A settled request still has a `due_at_ms`.", func(_ *examiner, q *requestRow) string {
		return when(!q.Open() && q.DueAtMs != 0, "the request was %s, but due_at_ms is %d", q.Outcome, q.DueAtMs)
	})},
	{
		invariant(RequestHalfSettled, "Only some of `outcome`, `resolution`, `settled_number` and `settled_at_ms` are set.", func(_ *examiner, q *requestRow) string {
			settled := !q.Open()
			whole := settled == (q.Resolution != nil) && settled == (q.SettledNumber != 0) && settled == (q.SettledAtMs != 0)
			return unless(whole, "outcome is %q, settled_number is %d, settled_at_ms is %d, and a resolution is there: %t",
				q.Outcome, q.SettledNumber, q.SettledAtMs, q.Resolution != nil)
		}),
		invariant(ResolutionUnreadable, "The resolution is not valid JSON of its type.", func(_ *examiner, q *requestRow) string {
			return when(!q.Open() && q.resolution == nil, "the resolution is not the JSON of one")
		}),
		invariant(OutcomeOfOtherKind, "The outcome belongs to another kind: an approval was answered, a question allowed.", func(_ *examiner, q *requestRow) string {
			return unless(q.Open() || fits(q.Kind, q.Outcome), "%s was %s", article(q.Kind), q.Outcome)
		}),
		invariant(ResolutionWrong, "The resolution contradicts the request's row.", func(_ *examiner, q *requestRow) string {
			if q.Open() {
				return ""
			}
			wrong := contradiction(q)
			return when(wrong != "", "the request was %s at %d, but its resolution has %s", q.Outcome, q.SettledAtMs, wrong)
		}),
		invariant(ResolutionRuleWrong, "`rule_id` and the resolution's `via` name different rules, or only one names a rule.", func(_ *examiner, q *requestRow) string {
			if q.Open() {
				return when(q.RuleID != "", "the request is open, but rule_id is %q", q.RuleID)
			}
			ruleID, byRule := strings.CutPrefix(q.resolution.Via, api.ViaRule)
			return when(q.RuleID != ruleID && (byRule || q.RuleID != ""), "rule_id is %q, but the resolution came by %q", q.RuleID, q.resolution.Via)
		}),
	},
}

// partialAnswersWrong checks a stored partial answer. An unreadable body is a separate finding.
func partialAnswersWrong(_ *examiner, q *requestRow) string {
	if q.PartialAnswers == nil || !q.readable {
		return ""
	}
	var answers []api.UserQuestionAnswer
	if json.Unmarshal(q.PartialAnswers, &answers) != nil || len(answers) == 0 {
		return "the partial answer is not the JSON of a list of answers"
	}
	if rest := answersInOrder(q.question.Questions, answers); len(rest) > 0 {
		return "the partial answer answers question " + rest[0].QuestionID + ", which was not asked, is answered twice, or is out of order"
	}
	return when(len(answers) == len(q.question.Questions), "the partial answer answers every question, and the request is open")
}

// answersInOrder returns the answers left after removing those in question order.
func answersInOrder(questions []api.UserQuestion, answers []api.UserQuestionAnswer) []api.UserQuestionAnswer {
	for i := range questions {
		if len(answers) > 0 && answers[0].QuestionID == questions[i].ID {
			answers = answers[1:]
		}
	}
	return answers
}

// fits reports whether a request of a kind may have an outcome.
func fits(kind model.RequestKind, outcome api.Outcome) bool {
	switch outcome {
	case api.OutcomeAllowed, api.OutcomeDenied:
		return kind == model.KindApproval
	case api.OutcomeAnswered, api.OutcomeDeclined:
		return kind == model.KindQuestion || kind == model.KindClarification
	case api.OutcomeCancelled, api.OutcomeExpired:
		return kind == model.KindApproval || kind == model.KindQuestion || kind == model.KindClarification
	}
	return false
}

// contradiction returns the member of the resolution that contradicts the row, or "". Only the
// outcome allowed is an allow. The resolution of a clarification keeps the time of the parent's
// decision.
func contradiction(q *requestRow) string {
	behavior := api.Behavior("")
	if q.Kind == model.KindApproval {
		behavior = api.BehaviorDeny
		if q.Outcome == api.OutcomeAllowed {
			behavior = api.BehaviorAllow
		}
	}
	switch r := q.resolution; {
	case r.RequestID != q.RequestID:
		return "another request_id"
	case r.Outcome != q.Outcome:
		return "another outcome"
	case r.ResolvedAtMs != q.SettledAtMs && q.Kind != model.KindClarification, r.ResolvedAtMs == 0:
		return "another resolved_at_ms"
	case r.Behavior != behavior:
		return "another behavior"
	case !declinedFits(q):
		return "another declined"
	}
	return ""
}

// declines reports whether the deadline of a question declines it.
func declines(q *requestRow) bool {
	e := q.Escalation()
	return q.Kind == model.KindQuestion && e != nil && e.AtDeadline == api.DeadlineDecline
}

// declinedFits checks the resolution's declined member. Any end of a parent clarification
// without an answer is a declined answer to the child. In the child's session the same outcomes
// may also come from the end of its own run. A redacted question has lost what its deadline does.
func declinedFits(q *requestRow) bool {
	switch declined := q.resolution.Declined; {
	case (declined != nil) != (q.Kind != model.KindApproval):
		return false
	case declined == nil:
		return true
	case q.Kind == model.KindClarification && (q.Outcome == api.OutcomeCancelled || q.Outcome == api.OutcomeExpired):
		return true
	case q.of.Kind == api.KindParentClarification:
		return *declined == (q.Outcome != api.OutcomeAnswered)
	default:
		return *declined == (q.Outcome == api.OutcomeDeclined) || *declined && q.Outcome == api.OutcomeExpired &&
			(declines(q) || q.resolution.Reason == model.RedactedText)
	}
}

// reportInvariants are checked for each request after all rows of its session were read: the log
// announces it once and reports its resolution once; a child's question reaches its parent, and
// the answer comes back.
var reportInvariants = table[*request]{
	{
		invariant(RequestNotAnnounced, "No event raises the request.", func(_ *examiner, q *request) string {
			return when(q.announced == 0, "no event says that the request is waited for")
		}),
		invariant(RequestAnnouncedTwice, "Two events raise the request.", func(_ *examiner, q *request) string {
			return when(q.announced > 1, "%d events say that the request is waited for", q.announced)
		}),
	},
	{
		invariant(OpenRequestResolved, "An event reports a resolution of a request that is open.", func(_ *examiner, q *request) string {
			return when(q.outcome == "" && q.resolved > 0, "the request is open, but %d events report a resolution", q.resolved)
		}),
		invariant(ResolutionWithoutEvent, "No event reports the resolution.", func(_ *examiner, q *request) string {
			return when(q.outcome != "" && q.resolved == 0, "the request was %s, but no event reports it", q.outcome)
		}),
		invariant(ResolutionEventRepeated, "Two events report it.", func(_ *examiner, q *request) string {
			return when(q.outcome != "" && q.resolved > 1, "the request was %s, and %d events report it", q.outcome, q.resolved)
		}),
	},
	{invariant(ClarificationWithoutEffect, "No effect asks the parent what the child has asked.", func(e *examiner, q *request) string {
		opened := e.effectIDs[model.EffectID(api.EffectOpenClarification, q.clarificationRunID)]
		return when(q.clarificationRunID != "" && !opened, "no effect makes the clarification %s", q.clarificationRunID)
	})},
	{
		invariant(AnswerNotRecorded, "The message with the answer exists, but the child's request is open: the child will not resume.", func(e *examiner, q *request) string {
			return when(q.kind == model.KindClarification && q.outcome == "" && e.answered[q.RequestKey], "the answer is in the mailbox, but the request is open")
		}),
		invariant(AnswerWithoutMessage, "The child's request has the parent's answer, but its message is missing.", func(e *examiner, q *request) string {
			return when(q.kind == model.KindClarification && q.outcome != "" && q.fromParent && !e.answered[q.RequestKey],
				"the request was %s by the parent's session, but there is no message with the answer", q.outcome)
		}),
	},
}
