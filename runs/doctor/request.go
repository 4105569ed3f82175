package doctor

import (
	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs"
)

// request is what is kept of a request while its session is looked at. The
// documents, which may be large, are not.
type request struct {
	runs.RequestKey
	kind    runs.RequestKind
	outcome runs.Outcome
	// recorded is the outcome in the resolution.
	recorded  runs.Outcome
	announced int
	resolved  int
}

func (e *examiner) readRequests(rows runs.RowSequence[runs.Request]) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		e.summary.Rows.Requests++
		known := &request{RequestKey: runs.RequestKey{RunID: row.RunID, RequestID: row.RequestID}, kind: row.Kind, outcome: row.Outcome}
		at := known.place()
		of := e.runs[row.RunID]
		if of == nil {
			e.find(RequestWithoutRun, at, "the session does not have the run")
			continue
		}
		e.requests[known.RequestKey] = known
		e.orderedRequests = append(e.orderedRequests, known)
		of.add(row)
		if !readableBody(row) {
			e.find(RequestUnreadable, at, "the body is not the JSON of %s", article(row.Kind))
		}
		e.checkSettled(row, known, at)
	}
	return nil
}

func (q *request) place() Finding { return Finding{RunID: q.RunID, RequestID: q.RequestID} }

// add counts a request.
func (r *run) add(row *runs.Request) {
	r.numbers = append(r.numbers, row.Number)
	if row.Number > r.newestNumber {
		r.newestNumber, r.newestSuspension = row.Number, row.SuspensionID
	}
	switch {
	case !row.Open():
		r.settled++
		r.settledNumbers = append(r.settledNumbers, row.SettledNumber)
	case row.Kind == runs.KindQuestion:
		r.openQuestions++
	default:
		r.openApprovals++
	}
}

func readableBody(row *runs.Request) bool {
	if row.Kind == runs.KindQuestion {
		var body runs.UserQuestionRequest
		return json.Unmarshal(row.Body, &body) == nil && body.ID == row.RequestID
	}
	var body runs.ApprovalRequest
	return json.Unmarshal(row.Body, &body) == nil && body.ID == row.RequestID
}

func article(kind runs.RequestKind) string {
	if kind == runs.KindApproval {
		return "an approval with its id"
	}
	return "a question with its id"
}

// checkSettled checks what was recorded for a request by itself.
func (e *examiner) checkSettled(row *runs.Request, known *request, at Finding) {
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
		return
	}
	var resolution runs.Resolution
	if err := json.Unmarshal(row.Resolution, &resolution); err != nil {
		e.find(ResolutionUnreadable, at, "the resolution is not the JSON of one")
		return
	}
	known.recorded = resolution.Outcome
	if !fits(row.Kind, row.Outcome) {
		e.find(OutcomeOfOtherKind, at, "%s was %s", article(row.Kind), row.Outcome)
		return
	}
	if wrong := contradiction(row, &resolution); wrong != "" {
		e.find(ResolutionWrong, at, "the request was %s at %d, but its resolution has %s", row.Outcome, row.SettledAtMs, wrong)
	}
}

// fits reports whether a request of a kind may have an outcome.
func fits(kind runs.RequestKind, outcome runs.Outcome) bool {
	switch outcome {
	case runs.OutcomeAllowed, runs.OutcomeDenied:
		return kind == runs.KindApproval
	case runs.OutcomeAnswered, runs.OutcomeDeclined:
		return kind == runs.KindQuestion
	case runs.OutcomeCancelled, runs.OutcomeExpired:
		return kind == runs.KindApproval || kind == runs.KindQuestion
	}
	return false
}

// contradiction returns the member of a resolution that says something else than
// the row, or "". An approval is allowed by the outcome allowed alone.
func contradiction(row *runs.Request, resolution *runs.Resolution) string {
	behavior := runs.Behavior("")
	if row.Kind == runs.KindApproval {
		behavior = runs.BehaviorDeny
		if row.Outcome == runs.OutcomeAllowed {
			behavior = runs.BehaviorAllow
		}
	}
	declined := resolution.Declined != nil && *resolution.Declined
	switch {
	case resolution.RequestID != row.RequestID:
		return "another request_id"
	case resolution.Outcome != row.Outcome:
		return "another outcome"
	case resolution.ResolvedAtMs != row.SettledAtMs:
		return "another resolved_at_ms"
	case resolution.Behavior != behavior:
		return "another behavior"
	case declined != (row.Outcome == runs.OutcomeDeclined) || (resolution.Declined != nil) != (row.Kind == runs.KindQuestion):
		return "another declined"
	}
	return ""
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
