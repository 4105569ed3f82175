package doctor

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// request is what is kept of a request while its session is looked at. The
// documents, which may be large, are not.
type request struct {
	runs.RequestKey
	kind    model.RequestKind
	outcome api.Outcome
	// recorded is the outcome in the resolution.
	recorded  api.Outcome
	handle    string
	announced int
	resolved  int
	// The rest is about a clarification: the run in the parent's session, whether the
	// child's run waits for it, and whether what was recorded came from there.
	clarificationRunID string
	parked             bool
	delivered          bool
	unreadable         bool
}

func (e *examiner) readRequests(rows model.RowSequence[model.Request]) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		e.summary.Rows.Requests++
		known := &request{RequestKey: runs.RequestKey{RunID: row.RunID, RequestID: row.RequestID}, kind: row.Kind, outcome: row.Outcome, handle: row.Handle}
		at := known.place()
		of := e.runs[row.RunID]
		if of == nil {
			e.find(RequestWithoutRun, at, "the session does not have the run")
			continue
		}
		e.requests[known.RequestKey] = known
		e.orderedRequests = append(e.orderedRequests, known)
		if row.Kind == model.KindClarification {
			e.readClarification(of, row, known, at)
		} else if !readableBody(row) {
			e.find(RequestUnreadable, at, "the body is not the JSON of %s", article(row.Kind))
		}
		of.add(row, known)
		e.checkPart(row, at)
		e.checkSettled(of, row, known, at)
	}
	return nil
}

func (q *request) place() Finding { return Finding{RunID: q.RunID, RequestID: q.RequestID} }

// add counts a request.
func (r *run) add(row *model.Request, known *request) {
	r.numbers = append(r.numbers, row.Number)
	// A run that asks its parent and goes on is not suspended by that.
	suspends := row.Kind != model.KindClarification || known.parked
	if row.Number > r.newestNumber && suspends {
		r.newestNumber, r.newestSuspension = row.Number, row.SuspensionID
	}
	if row.Kind == model.KindQuestion {
		r.questions++
	}
	switch {
	case !row.Open():
		r.settled++
		r.settledNumbers = append(r.settledNumbers, row.SettledNumber)
	case !suspends:
		r.openUnparked++
	case row.Kind == model.KindQuestion || row.Kind == model.KindClarification:
		r.openQuestions++
	default:
		r.openApprovals++
	}
}

func readableBody(row *model.Request) bool {
	if row.Kind == model.KindQuestion {
		var body api.UserQuestionRequest
		return json.Unmarshal(row.Body, &body) == nil && body.ID == row.RequestID
	}
	var body api.ApprovalRequest
	return json.Unmarshal(row.Body, &body) == nil && body.ID == row.RequestID
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

// checkSettled checks what was recorded for a request by itself.
func (e *examiner) checkSettled(of *run, row *model.Request, known *request, at Finding) {
	settled := !row.Open()
	if settled && row.DueAtMs != 0 {
		e.find(DueAfterSettled, at, "the request was %s, but due_at_ms is %d", row.Outcome, row.DueAtMs)
	}
	if settled != (row.Resolution != nil) || settled != (row.SettledNumber != 0) || settled != (row.SettledAtMs != 0) {
		e.find(RequestHalfSettled, at, "outcome is %q, settled_number is %d, settled_at_ms is %d, and a resolution is there: %t",
			row.Outcome, row.SettledNumber, row.SettledAtMs, row.Resolution != nil)
		return
	}
	if !settled {
		if row.RuleID != "" {
			e.find(ResolutionRuleWrong, at, "the request is open, but rule_id is %q", row.RuleID)
		}
		return
	}
	var resolution api.Resolution
	if err := json.Unmarshal(row.Resolution, &resolution); err != nil {
		e.find(ResolutionUnreadable, at, "the resolution is not the JSON of one")
		return
	}
	known.recorded = resolution.Outcome
	known.delivered = row.Outcome == api.OutcomeAnswered || resolution.Declined != nil && *resolution.Declined
	if !fits(row.Kind, row.Outcome) {
		e.find(OutcomeOfOtherKind, at, "%s was %s", article(row.Kind), row.Outcome)
		return
	}
	if wrong := contradiction(of.Kind, row, &resolution); wrong != "" {
		e.find(ResolutionWrong, at, "the request was %s at %d, but its resolution has %s", row.Outcome, row.SettledAtMs, wrong)
		return
	}
	if ruleID, byRule := strings.CutPrefix(resolution.Via, api.ViaRule); row.RuleID != ruleID && (byRule || row.RuleID != "") {
		e.find(ResolutionRuleWrong, at, "rule_id is %q, but the resolution came by %q", row.RuleID, resolution.Via)
	}
}

// checkPart checks what is kept of an answer until the rest of it is there.
func (e *examiner) checkPart(row *model.Request, at Finding) {
	switch {
	case row.PartialAnswers == nil:
	case row.Kind != model.KindQuestion:
		e.find(PartialAnswersMisplaced, at, "%s has a part of an answer", article(row.Kind))
	case !row.Open():
		e.find(PartialAnswersMisplaced, at, "the request was %s and has a part of an answer", row.Outcome)
	default:
		if wrong := partFault(row); wrong != "" {
			e.find(PartialAnswersWrong, at, "the part of an answer %s", wrong)
		}
	}
}

// partFault returns what is wrong with a part of an answer, or "".
func partFault(row *model.Request) string {
	var body api.UserQuestionRequest
	if json.Unmarshal(row.Body, &body) != nil {
		return "" // which is told of the body
	}
	var answers []api.UserQuestionAnswer
	if json.Unmarshal(row.PartialAnswers, &answers) != nil || len(answers) == 0 {
		return "is not the JSON of a list of answers"
	}
	open := make(map[string]bool, len(body.Questions))
	for i := range body.Questions {
		open[body.Questions[i].ID] = true
	}
	for _, answer := range answers {
		if !open[answer.QuestionID] {
			return "answers question " + answer.QuestionID + ", which was not asked or is answered twice"
		}
		delete(open, answer.QuestionID)
	}
	if len(open) == 0 {
		return "answers every question, and the request is open"
	}
	return ""
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

// contradiction returns the member of a resolution that says something else than
// the row, or "". An approval is allowed by the outcome allowed alone. What was
// recorded for a clarification keeps the moment of the parent's decision.
func contradiction(of api.RunKind, row *model.Request, resolution *api.Resolution) string {
	behavior := api.Behavior("")
	if row.Kind == model.KindApproval {
		behavior = api.BehaviorDeny
		if row.Outcome == api.OutcomeAllowed {
			behavior = api.BehaviorAllow
		}
	}
	switch {
	case resolution.RequestID != row.RequestID:
		return "another request_id"
	case resolution.Outcome != row.Outcome:
		return "another outcome"
	case resolution.ResolvedAtMs != row.SettledAtMs && row.Kind != model.KindClarification, resolution.ResolvedAtMs == 0:
		return "another resolved_at_ms"
	case resolution.Behavior != behavior:
		return "another behavior"
	case !declinedFits(of, row, resolution.Declined):
		return "another declined"
	}
	return ""
}

// declinedFits reports whether a resolution says rightly that it is no answer.
// Whatever ends a parent clarification without one is a declined answer to the child.
// In the child's session, the same outcomes may come from there or from the end of
// its own run.
func declinedFits(of api.RunKind, row *model.Request, declined *bool) bool {
	switch {
	case (declined != nil) != (row.Kind != model.KindApproval):
		return false
	case declined == nil:
		return true
	case row.Kind == model.KindClarification && (row.Outcome == api.OutcomeCancelled || row.Outcome == api.OutcomeExpired):
		return true
	case of == api.KindParentClarification:
		return *declined == (row.Outcome != api.OutcomeAnswered)
	}
	return *declined == (row.Outcome == api.OutcomeDeclined)
}

// checkReports: the log announces each request once and reports each resolution
// once.
func (e *examiner) checkReports(q *request) {
	at := q.place()
	switch {
	case q.announced == 0:
		e.find(RequestNotAnnounced, at, "no event says that the request is waited for")
	case q.announced > 1:
		e.find(RequestAnnouncedTwice, at, "%d events say that the request is waited for", q.announced)
	}
	switch {
	case q.outcome == "" && q.resolved > 0:
		e.find(OpenRequestResolved, at, "the request is open, but %d events report a resolution", q.resolved)
	case q.outcome != "" && q.resolved == 0:
		e.find(ResolutionWithoutEvent, at, "the request was %s, but no event reports it", q.outcome)
	case q.outcome != "" && q.resolved > 1:
		e.find(ResolutionEventRepeated, at, "the request was %s, and %d events report it", q.outcome, q.resolved)
	}
}
