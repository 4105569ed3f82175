package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// checkApprovalEscalation adds the faults of an approval's escalation.
func checkApprovalEscalation(e *api.Escalation, at string, faults *refusal.Faults) {
	if e == nil {
		return
	}
	at += "/escalation"
	if checkName(e, at, faults); e.Name != "" {
		return
	}
	checkSteps(e, at, faults)
	if e.AtDeadline != "" && e.AtDeadline != api.DeadlineDeny && e.AtDeadline != api.DeadlineKeep {
		faults.Add(at+"/at_deadline", "must be deny or keep: no deadline allows an approval")
	}
	if e.DefaultAnswer != nil {
		faults.Add(at+"/default_answer", "is only for questions")
	}
}

// checkName adds the faults of an escalation that names one of the service.
func checkName(e *api.Escalation, at string, faults *refusal.Faults) {
	faults.Text(at+"/name", e.Name, api.MaxNameLength)
	if e.ByRule != nil {
		faults.Add(at+"/by_rule", "is set by the service")
	}
	if e.Name != "" && (e.Calendar != "" || e.Steps != nil || e.AtDeadline != "" || e.DefaultAnswer != nil) {
		faults.Add(at+"/name", "must be the only member")
	}
}

// CheckNamed returns the faults of an escalation that a service names, as of an approval's.
func CheckNamed(e *api.Escalation) error {
	var faults refusal.Faults
	checkApprovalEscalation(e, "", &faults)
	return faults.Err()
}

// checkQuestionEscalation adds the faults of a question's escalation. valid says that the question has no
// other fault.
func checkQuestionEscalation(q *api.UserQuestionRequest, at string, valid bool, work *document.Work, faults *refusal.Faults) {
	e := q.Escalation
	if e == nil {
		return
	}
	at += "/escalation"
	if checkName(e, at, faults); e.Name != "" {
		return
	}
	checkSteps(e, at, faults)
	switch e.AtDeadline {
	case "", api.DeadlineCancelRun, api.DeadlineDecline, api.DeadlineKeep:
		if e.DefaultAnswer != nil {
			faults.Add(at+"/default_answer", "needs at_deadline answer")
		}
		return
	case api.DeadlineAnswer:
	case api.DeadlineDeny:
		fallthrough
	default:
		faults.Add(at+"/at_deadline", "must be cancel_run, decline, answer or keep")
		return
	}
	switch {
	case e.DefaultAnswer == nil:
		faults.Add(at+"/default_answer", "is required with at_deadline answer")
	case model.Sensitive(q):
		faults.Add(at+"/default_answer", "must not be given for a sensitive question: everyone can read the request")
	case valid:
		checkDefaultAnswer(q, at+"/default_answer", work, faults)
	}
}

// checkDefaultAnswer adds the faults of a default answer, which is checked like an answer by a person.
func checkDefaultAnswer(q *api.UserQuestionRequest, at string, work *document.Work, faults *refusal.Faults) {
	given := QuestionAnswer{RequestID: q.ID, Answers: q.Escalation.DefaultAnswer.Answers, Value: q.Escalation.DefaultAnswer.Value}
	given.prepare()
	q.Escalation.DefaultAnswer.Value = given.Value
	_, err := checkAnswer(*q, given, at, func(schema, value api.JSON, pointer string) ([]api.Fault, error) {
		return work.MatchSchema(schema, value, pointer), nil
	})
	if err == nil {
		return
	}
	if refused, is := err.(*refusal.Error); is && len(refused.Faults) > 0 { //nolint:errorlint // checkAnswer wraps nothing
		faults.List = append(faults.List, refused.Faults...)
		return
	}
	faults.Add(at, "%s", err.Error())
}

// kept reports whether a request stays open after its deadline.
func kept(e *api.Escalation) bool { return e != nil && e.AtDeadline == api.DeadlineKeep }
