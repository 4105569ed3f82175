package storetest

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

var (
	people            = []string{"user:ada", "user:ben"}
	approvalDeadlines = []api.DeadlineAction{"", api.DeadlineDeny, api.DeadlineKeep}
	questionDeadlines = []api.DeadlineAction{"", api.DeadlineCancelRun, api.DeadlineDecline, api.DeadlineAnswer, api.DeadlineAnswer, api.DeadlineKeep}
)

// escalation draws who is notified of a request, and what its deadline does; mostly nothing. The
// questions are empty for an approval.
func (g *Generator) escalation(questions []api.UserQuestion) *api.Escalation {
	if g.chance(60) {
		return nil
	}
	e := &api.Escalation{AtDeadline: pick(g, approvalDeadlines)}
	if len(questions) > 0 {
		e.AtDeadline = pick(g, questionDeadlines)
	}
	if g.chance(3) {
		e.AtDeadline = pick(g, questionDeadlines)
	}
	if e.AtDeadline == api.DeadlineAnswer && g.chance(95) {
		e.DefaultAnswer = &api.DefaultAnswer{}
		for i := range questions {
			e.DefaultAnswer.Answers = append(e.DefaultAnswer.Answers, api.UserQuestionAnswer{QuestionID: questions[i].ID, SelectedOptionIDs: []string{"x"}})
		}
	}
	if g.chance(30) {
		return e
	}
	afterMs := int64(0)
	for range 1 + g.IntN(3) {
		afterMs += pick(g, []int64{0, 500, 5_000})
		step := api.EscalationStep{AfterMs: afterMs, Notify: g.some(people), Urgent: g.chance(20)}
		if g.chance(30) {
			step.EveryMs, step.Times = api.MinEscalationEveryMs, pick(g, []int64{0, 2})
		}
		if g.chance(20) {
			step.AlsoFrom = g.some(people)
		}
		e.Steps = append(e.Steps, step)
	}
	if g.chance(3) {
		e.Calendar = "unknown"
	}
	return e
}

func cloneEscalation(e *api.Escalation) *api.Escalation {
	if e == nil {
		return nil
	}
	copied := *e
	copied.Steps = slices.Clone(e.Steps)
	if e.DefaultAnswer != nil {
		answer := *e.DefaultAnswer
		answer.Answers = slices.Clone(answer.Answers)
		copied.DefaultAnswer = &answer
	}
	return &copied
}

// call draws the call of an approval. Some have a command or a file that a rule can name.
func (g *Generator) call() (tool string, input api.JSON) {
	switch g.IntN(5) {
	case 0, 1:
		return "bash", api.JSON(pick(g, []string{`{"command":"npm test all"}`, `{"command":"npm test one"}`, `{"command":"make"}`}))
	case 2:
		return "write", api.JSON(pick(g, []string{`{"file_path":"src/app/a.go"}`, `{"file_path":"src/app/b.go"}`, `{"file_path":"a.go"}`}))
	}
	return pick(g, toolNames), g.document()
}

// rememberAs draws what a remembered rule is about.
func (g *Generator) rememberAs() api.RememberAs {
	return pick(g, []api.RememberAs{
		"", api.RememberExact, api.RememberCommand, api.RememberPrefix, api.RememberPrefix, api.RememberFolder, api.RememberFolder, api.RememberTool,
	})
}

// advance notifies the people of the due steps of a request, or claims the effect that does.
func (g *Generator) advance() Maker {
	effect, there := g.effectOf(api.EffectAdvanceRequest)
	if !there {
		return g.suspend()
	}
	if g.chance(20) {
		return func() runs.Command {
			return &runs.ClaimEffect{SessionID: effect.SessionID, EffectID: effect.EffectID}
		}
	}
	command, is := commandOf(&effect).(*runs.AdvanceRequest)
	if !is {
		panic("storetest: an effect of kind advance_request has another command")
	}
	if g.chance(10) {
		command.Attempt++
	}
	if pending := g.model.RequestByHandle(command.Handle); pending != nil && pending.Request.Open() {
		if !pending.Request.Escalates() {
			command.To = g.recipients(0)
		}
		for _, step := range runs.DueSteps(&pending.Request, nil, g.nowMs) {
			if g.chance(90) {
				command.Steps = append(command.Steps, runs.DueStep{Step: step, To: g.recipients(20)})
			}
		}
	}
	return func() runs.Command {
		copied := *command
		copied.Steps, copied.To = slices.Clone(command.Steps), slices.Clone(command.To)
		return &copied
	}
}

// recipients draws people, of whom some percent have no address.
func (g *Generator) recipients(unreachable int) (to []runs.Recipient) {
	for _, principal := range g.some(people) {
		one := runs.Recipient{Principal: principal, Channel: pick(g, []string{"mail", "ops"}), Withdraws: g.chance(30)}
		if g.chance(unreachable) {
			one = runs.Recipient{Principal: principal, WhyNot: runs.WhyNoAddress}
		}
		to = append(to, one)
	}
	return to
}

// finishNotice records the result of a message to a person.
func (g *Generator) finishNotice() Maker {
	effect, there := g.effectOf(api.EffectNotify)
	if !there {
		return g.advance()
	}
	notice, err := model.NoticeOf(&effect)
	if err != nil {
		panic("storetest: a message has no request: " + err.Error())
	}
	c := runs.FinishEffect{SessionID: effect.SessionID, EffectID: effect.EffectID, RunID: effect.RunID, Attempt: effect.Attempts}
	switch g.IntN(4) {
	case 0:
		c.PutOffMs = pick(g, []int64{1, 5_000})
	case 1, 2:
		c.Error, c.Permanent, c.RequestHandle = "nobody is there", g.chance(60), notice.RequestHandle
		if to := g.recipients(0); len(to) > 0 && !notice.Withdraws && g.chance(40) {
			to[0].Principal = notice.Principal
			c.Next = &runs.NextAddress{To: to[0], Tried: []string{"address"}, ForOthers: g.chance(50)}
		}
	}
	return func() runs.Command { copied := c; return &copied }
}
