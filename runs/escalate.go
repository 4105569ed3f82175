package runs

import (
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Reasons why a person gets no message by a step, or not now.
const (
	// WhyNotAllowed: the person may not decide the request.
	WhyNotAllowed = "may_not_decide"
	// WhyNoAddress: the person has no verified address.
	WhyNoAddress = "no_address"
	// WhyToldNow: another step that was due at the same time notifies the person.
	WhyToldNow = "same_message"
	// WhyLimit: the request has had api.MaxEscalationMessages.
	WhyLimit = "too_many_messages"
	// WhyOnCallFailed is of an on-call source that did not say who is on call. Its last answer counted,
	// or nobody, if there is none.
	WhyOnCallFailed = "on_call_failed"
	// WhyNobody is of a selector that fits nobody who may decide.
	WhyNobody = "nobody"
	// WhyOnCallEmpty is of an on-call source that named nobody.
	WhyOnCallEmpty = "nobody_on_call"
)

// stamped returns the escalation of a new request and its stored form: the one of a rule, which is policy and
// wins, or a copy of the one that it names, or of the default of the service if it has none. A question to a
// parent has no escalation.
func (w *workingCopy) stamped(run *model.Run, e *api.Escalation, form document.Object, byRule *rules.Rule) (*api.Escalation, document.Object) {
	if byRule != nil {
		return w.ofRule(byRule, form)
	}
	named := w.state.Escalations.Of(e)
	if named == nil || run.Kind == api.KindParentClarification {
		return e, form
	}
	return named.Escalation, form.With("escalation", named.Form)
}

// planOf returns the plan of an escalation. A calendar that is unknown counts as none, so that people
// are notified too early rather than never.
func planOf(e *api.Escalation, createdAtMs int64, settings *escalation.Settings) *escalation.Plan {
	return &escalation.Plan{Steps: e.Steps, CreatedAtMs: createdAtMs, Calendar: settings.Calendar(e.Calendar)}
}

// firstStep returns the stored progress of a new request; nil without steps.
func (w *workingCopy) firstStep(e *api.Escalation) api.JSON {
	if e == nil || len(e.Steps) == 0 {
		return nil
	}
	var state model.EscalationState
	state.NextStep, state.NextAtMs = planOf(e, w.nowMs, w.state.Escalations).Next(nil)
	return document.Encode(state)
}

// DueSteps returns the steps of an open request's escalation that are due at a time, in their order. It
// returns none for a request without steps.
func DueSteps(request *model.Request, settings *escalation.Settings, nowMs int64) []int64 {
	if !request.Escalates() {
		return nil
	}
	state := request.Progress()
	_, due := dueSteps(planOf(request.Escalation(), request.CreatedAtMs, settings), &state, nowMs)
	return due
}

// dueSteps returns the progress once all due steps are done, and these steps. The next step is due at
// its recorded time even if that is earlier, because a message of the step before was given up.
func dueSteps(plan *escalation.Plan, state *model.EscalationState, nowMs int64) (done, due []int64) {
	done = plan.Due(state.Done, nowMs)
	if next := state.NextStep; state.NextAtMs != 0 && state.NextAtMs <= nowMs && next < len(done) {
		done[next] = max(done[next], escalation.Done(state.Done, next)+1)
	}
	for i := range done {
		if done[i] > escalation.Done(state.Done, i) {
			due = append(due, int64(i))
		}
	}
	return done, due
}

// escalate does the due steps of a request at once, and sets the time of the next one. A step whose
// recipients the caller has not looked up is left, and is due again at once.
func (w *workingCopy) escalate(effect *model.Effect, run *model.Run, request *model.Request, steps []DueStep) {
	state := request.Progress()
	plan := planOf(request.Escalation(), request.CreatedAtMs, w.state.Escalations)
	done, due := dueSteps(plan, &state, w.nowMs)
	known := map[int64][]Recipient{}
	for _, step := range steps {
		known[step.Step] = step.To[:min(len(step.To), api.MaxRecipients)]
	}
	messages := messagesOf(plan, due, known)
	left := -1
	for _, step := range due {
		to, looked := known[step]
		if !looked {
			done[step] = escalation.Done(state.Done, int(step))
			if left < 0 {
				left = int(step)
			}
			continue
		}
		w.notifyByStep(run, request, &state, &plan.Steps[step], step, to, messages)
	}
	if len(due) > 0 {
		state.Rounds++
	}
	if state.Messages >= api.MaxEscalationMessages {
		// No step is repeated any more. Later ones still say, in their events, that they reach nobody: each once, so the
		// escalation ends.
		for i := range done {
			if done[i] > 0 {
				done[i] = escalation.Times(&plan.Steps[i])
			}
		}
	}
	state.Done = done
	state.NextStep, state.NextAtMs = plan.Next(done)
	if left >= 0 {
		// Even if its own time has not come: a message of the step before was given up.
		state.NextStep, state.NextAtMs = left, w.nowMs
	}
	if state.NextStep < 0 {
		state.NextStep, state.NextAtMs = 0, 0
	}
	w.editRequest(request).EscalationState = document.Encode(state)
	w.saveRun(run)
	if state.NextAtMs == 0 {
		w.endEffect(effect, api.EffectDone, "")
		return
	}
	// A step is not an attempt, and failures before it do not count for the next one: together they would
	// end the escalation.
	if len(due) > 0 && left < 0 {
		effect.Attempts = 0
	} else {
		effect.UndoAttempt()
	}
	effect.DueAtMs, effect.LastError = max(state.NextAtMs, w.nowMs), ""
}

// stepsMessage is the one message to a person for all steps that are due at once.
type stepsMessage struct {
	urgent bool
	// ofStep is the last of the steps: if the message is given up, the step after it follows.
	ofStep   int64
	enqueued bool
}

// messagesOf returns the message of each person whom steps with known recipients notify.
func messagesOf(plan *escalation.Plan, steps []int64, known map[int64][]Recipient) map[string]*stepsMessage {
	messages := map[string]*stepsMessage{}
	for _, step := range steps {
		for _, recipient := range known[step] {
			if recipient.Channel == "" {
				continue
			}
			message := messages[recipient.Principal]
			if message == nil {
				message = &stepsMessage{}
				messages[recipient.Principal] = message
			}
			message.urgent, message.ofStep = message.urgent || plan.Steps[step].Urgent, step
		}
	}
	return messages
}

// notifyByStep enqueues a message to each recipient of a step who has none yet, and writes its event.
func (w *workingCopy) notifyByStep(run *model.Run, request *model.Request, state *model.EscalationState, of *api.EscalationStep, step int64, to []Recipient, messages map[string]*stepsMessage) {
	state.Begin(of.Notify)
	listed := make([]notifiedPerson, 0, len(to))
	for _, recipient := range to {
		if recipient.WhyNot == WhyNobody { // a selector: the event lists people
			state.Miss(recipient.Principal, WhyNobody)
			continue
		}
		person := notifiedPerson{Who: recipient.Principal, Channels: []string{}, WhyNot: recipient.WhyNot}
		switch {
		case recipient.Channel == "":
		case messages[recipient.Principal].enqueued:
			person.WhyNot = WhyToldNow
		case state.Messages >= api.MaxEscalationMessages:
			person.WhyNot = WhyLimit
		default:
			person.Channels = []string{recipient.Channel}
			message := messages[recipient.Principal]
			message.enqueued = true
			state.Tell(recipient.Principal)
			if recipient.Withdraws {
				state.WithdrawFrom(recipient.Channel)
			}
			w.enqueueNotice(request, recipient, model.PersonNotice{Step: state.Rounds, OfStep: message.ofStep, Urgent: message.urgent})
		}
		if person.WhyNot != "" && person.WhyNot != WhyToldNow {
			state.Miss(person.Who, person.WhyNot)
		}
		listed = append(listed, person)
	}
	w.emit(run, api.EventRequestNotified, requestNotifiedEvent{api.EventRequestNotified, request.RequestID, step, listed})
}

// hurry makes the step after a step due at once, because a message of that step was given up.
func (w *workingCopy) hurry(request *model.Request, after int64) {
	if request == nil || !request.Open() || !request.Escalates() {
		return
	}
	effect, err := w.effect(model.EffectID(api.EffectAdvanceRequest, request.Handle))
	if err != nil || effect.State != api.EffectPending {
		return
	}
	state := request.Progress()
	next := int(after) + 1
	if next >= len(request.Escalation().Steps) || escalation.Done(state.Done, next) > 0 || state.NextAtMs <= w.nowMs {
		return
	}
	state.NextStep, state.NextAtMs = next, w.nowMs
	w.editRequest(request).EscalationState = document.Encode(state)
	effect.DueAtMs = w.nowMs
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
}

// checkEscalations returns invalid_request for an escalation that names an escalation, a calendar or an
// on-call source that the service does not have. prefix locates the suspension in the request body.
func (w *workingCopy) checkEscalations(s *api.Suspension, prefix string) error {
	var faults refusal.Faults
	for i := range s.Approvals {
		w.checkKnown(s.Approvals[i].Escalation, placeIn(prefix, "approvals", i)+"/escalation", &faults)
	}
	for i := range s.Questions {
		w.checkKnown(s.Questions[i].Escalation, placeIn(prefix, "questions", i)+"/escalation", &faults)
	}
	return faults.Err()
}

// checkKnown adds the faults of names in an escalation that the service does not have.
func (w *workingCopy) checkKnown(e *api.Escalation, at string, faults *refusal.Faults) {
	if e == nil {
		return
	}
	if e.Name != "" && w.state.Escalations.Of(e) == nil {
		faults.Add(at+"/name", "this service has no such escalation")
	}
	if e.Calendar != "" && w.state.Escalations.Calendar(e.Calendar) == nil {
		faults.Add(at+"/calendar", "this service has no such calendar")
	}
	for i := range e.Steps {
		step, here := &e.Steps[i], fmt.Sprintf("%s/steps/%d", at, i)
		w.checkOnCall(step.Notify, here+"/notify", faults)
		w.checkOnCall(step.AlsoFrom, here+"/also_from", faults)
	}
}

func (w *workingCopy) checkOnCall(selectors []string, at string, faults *refusal.Faults) {
	for i, selector := range selectors {
		if name, is := strings.CutPrefix(selector, SelectOnCall); is && !w.state.Escalations.HasOnCall(name) {
			faults.Add(fmt.Sprintf("%s/%d", at, i), "this service has no such on-call source")
		}
	}
}

// expireQuestion records an overdue question as its escalation says. It reports whether the run must
// be cancelled, which the caller does after recording it.
func (w *workingCopy) expireQuestion(run *model.Run, request *model.Request) (cancels bool) {
	resolution := expiredResolution(request)
	switch e := request.Question().Escalation; {
	case e == nil || e.AtDeadline == "" || e.AtDeadline == api.DeadlineCancelRun:
		cancels = true
	case e.AtDeadline == api.DeadlineAnswer && e.DefaultAnswer != nil:
		resolution.Answers, resolution.Value = e.DefaultAnswer.Answers, e.DefaultAnswer.Value
	default:
		resolution.Declined = new(true)
	}
	_, value := w.settleRequest(run, request, resolution)
	w.emitAnswered(run, value)
	return cancels
}
