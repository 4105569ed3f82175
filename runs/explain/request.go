package explain

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// RequestFacts is the input of [Request].
type RequestFacts struct {
	NowMs   int64
	Request *model.Request
	RunKind api.RunKind
	People  People
	// Reader is the person who sees the explanation, "" for none.
	Reader string
	// Notices is nil where the service notifies nobody.
	Notices *Notices
	// Unreachable are people who may decide and have no verified address, of a request without an escalation.
	Unreachable []string
	// AgentID is the run's, and SilentMs how long no worker has asked for the agent's runs; 0 if one is there
	// or that is not known.
	AgentID  string
	SilentMs int64
	// Watched is about the agent of a call that waits for the decision itself.
	Watched reads.Watched
	// Rules are the standing rules about the request, and RulesMore counts the others.
	Rules     []api.ExplainedRule
	RulesMore int64
}

// People says who may decide a request, according to the current credentials.
type People struct {
	// Anyone says that the service requires no credentials.
	Anyone bool
	// Excluded says that nobody may allow the request while callers are anonymous.
	Excluded bool
	// May are the principals, sorted.
	May []string
	// More says that some credentials were not read.
	More bool
	// Strangers says that people without a credential may sign in through an issuer.
	Strangers bool
	// You is about the caller; nil for the service itself.
	You *api.ExplainedCaller
}

// nobody reports whether certainly no one may decide.
func (p *People) nobody() bool {
	if p.Anyone {
		return p.Excluded
	}
	return len(p.May) == 0 && !p.More && !p.Strangers
}

// Request explains an approval or a question. Call it only on a request of [model.KindApproval] or
// [model.KindQuestion].
func Request(f *RequestFacts) api.RequestExplanation {
	request := f.Request
	e := api.RequestExplanation{
		SessionID: request.SessionID, RunID: request.RunID, RequestID: request.RequestID, Handle: request.Handle,
		Kind: api.RequestQuestion, NowMs: f.NowMs, MayDecide: []string{}, You: f.People.You,
	}
	if request.Kind == model.KindApproval {
		e.Kind = api.RequestApproval
	}
	if !request.Open() {
		e.State, e.SinceMs, e.Text = api.ExplainSettled, request.SettledAtMs, settledText(request, f.NowMs)
		e.You = ruledOut(e.You)
		if f.Notices != nil {
			e.Notified = f.Notices.notified()
			e.Text += f.Notices.text(f.NowMs)
		}
		return e
	}
	e.SinceMs = request.CreatedAtMs
	e.Deadline = deadline(f)
	if request.DueAtMs != 0 && request.DueAtMs <= f.NowMs {
		e.State, e.Text = api.ExplainNobodyCanDecide, "The deadline passed "+ago(request.DueAtMs, f.NowMs)+". The service is about to record it."
		e.You = ruledOut(e.You)
		return e
	}
	e.Anyone = f.People.Anyone
	if !e.Anyone {
		e.MayDecide = append(e.MayDecide, f.People.May[:min(len(f.People.May), api.MaxMayDecide)]...)
		e.MayDecideMore = int64(len(f.People.May) - len(e.MayDecide))
	}
	e.State = api.ExplainWaitingForPeople
	if f.People.nobody() {
		e.State = api.ExplainNobodyCanDecide
	}
	e.Text = openText(f, &e) + goneText(f.Watched, f.NowMs)
	e.Acknowledgement = request.AcknowledgedAt(f.NowMs)
	e.Text += acknowledgedText(e.Acknowledgement, f.NowMs)
	if e.SnoozedUntilMs = request.SnoozedAt(f.NowMs)[f.Reader]; e.SnoozedUntilMs != 0 {
		e.Text += " You snooze it for the next " + span(e.SnoozedUntilMs-f.NowMs) + "."
	}
	if escalation := request.Escalation(); escalation != nil && escalation.ByRule != nil {
		e.EscalatedBy = escalation.ByRule
		if name := escalation.ByRule.MissingName; name != "" {
			e.Text += " A rule names the escalation " + strconv.Quote(name) + ", which the service did not have: its default applies."
		}
	}
	if f.Notices != nil {
		notices := *f.Notices
		if notices.AtMs != 0 {
			for _, a := range e.Acknowledgement {
				notices.AtMs = max(notices.AtMs, a.UntilMs)
			}
		}
		e.Notified, e.NotifyAtMs = notices.notified(), notices.AtMs
		e.Text += notices.text(f.NowMs)
		e.NotReached = notReached(request)
		for _, principal := range f.Unreachable {
			e.NotReached = append(e.NotReached, api.ExplainedNotReached{Who: principal, WhyNot: runs.WhyNoAddress})
		}
		e.Text += notReachedText(e.NotReached)
		if e.Next = next(request, notices.AtMs); e.Next != nil && len(notices.Sent) > 0 {
			e.Text += nextText(e.Next, f.NowMs)
		}
	}
	e.Rules, e.RulesMore = f.Rules, f.RulesMore
	if f.SilentMs != 0 {
		e.NoWorkerSinceMs = f.NowMs - f.SilentMs
		e.Text += " " + noWorkerText(f.AgentID, f.SilentMs)
	}
	return e
}

// notReached returns whom the steps of an open request's escalation did not reach.
func notReached(request *model.Request) (all []api.ExplainedNotReached) {
	if !request.Escalates() {
		return nil
	}
	for _, missed := range request.Progress().NotReached {
		all = append(all, api.ExplainedNotReached{Who: missed.Who, WhyNot: missed.Why})
	}
	return all
}

// notReachedReasons are the reasons as people read them.
var notReachedReasons = map[string]string{
	runs.WhyNoAddress: "no verified address", runs.WhyNotAllowed: "may not decide", runs.WhyLimit: "too many messages",
	runs.WhyOnCallFailed: "the source failed", runs.WhyOnCallEmpty: "nobody is on call", runs.WhyNobody: "nobody who may decide",
}

func notReachedText(all []api.ExplainedNotReached) string {
	if len(all) == 0 {
		return ""
	}
	people := make([]string, 0, len(all))
	for _, missed := range all {
		name := "everyone"
		if named(missed.Who) {
			name = selectorText(missed.Who)
		}
		people = append(people, name+" ("+cmp.Or(notReachedReasons[missed.WhyNot], missed.WhyNot)+")")
	}
	return " Not reached: " + allNames(people) + "."
}

// next returns the next step of a request's escalation, or nil if nobody is notified any more. atMs is when people are notified next.
func next(request *model.Request, atMs int64) *api.ExplainedNext {
	if !request.Escalates() || atMs == 0 {
		return nil
	}
	progress, escalation := request.Progress(), request.Escalation()
	if progress.NextAtMs == 0 || progress.NextStep >= len(escalation.Steps) || progress.Messages >= api.MaxEscalationMessages {
		return nil
	}
	return &api.ExplainedNext{AtMs: atMs, Does: "notify", Step: int64(progress.NextStep), Who: escalation.Steps[progress.NextStep].Notify}
}

func nextText(step *api.ExplainedNext, nowMs int64) string {
	people := make([]string, 0, len(step.Who))
	for _, selector := range step.Who {
		people = append(people, selectorText(selector))
	}
	return " Next: " + allNames(people) + ", in " + span(step.AtMs-nowMs) + "."
}

// selectorText returns a selector as people read it.
func selectorText(selector string) string {
	kind, name, _ := strings.Cut(selector, ":")
	switch kind + ":" {
	case runs.SelectGroup:
		return "group " + name
	case runs.SelectRole:
		return name + "s"
	case runs.SelectOnCall:
		return "on call for " + name
	}
	return shortName(selector)
}

func ruledOut(you *api.ExplainedCaller) *api.ExplainedCaller {
	if you == nil {
		return nil
	}
	return &api.ExplainedCaller{Code: you.Code}
}

// deadline returns the deadline of an open request and its effect, or nil for none.
func deadline(f *RequestFacts) *api.ExplainedDeadline {
	request := f.Request
	atMs, does, escalation := request.DueAtMs, api.DeadlineCancelRun, request.Escalation()
	switch {
	case request.Kind == model.KindApproval:
		does = api.DeadlineDeny
	case f.RunKind == api.KindParentClarification:
		does = api.DeadlineDecline
	}
	if escalation != nil && escalation.AtDeadline != "" {
		does = escalation.AtDeadline
	}
	if does == api.DeadlineKeep {
		atMs = request.ShownDeadlineMs()
	}
	if atMs == 0 {
		return nil
	}
	return &api.ExplainedDeadline{AtMs: atMs, Does: string(does)}
}

func openText(f *RequestFacts, e *api.RequestExplanation) string {
	noun := "an answer"
	if e.Kind == api.RequestApproval {
		noun = "an approval"
	}
	text := "Waiting for " + noun + " for " + span(f.NowMs-e.SinceMs) + ". "
	switch {
	case e.State == api.ExplainNobodyCanDecide && e.Anyone:
		text += excludedText
	case e.State == api.ExplainNobodyCanDecide:
		text += undecidedText
	case e.Anyone:
		text += "Anyone can decide."
	case len(e.MayDecide) == 0:
		text += "Anyone who signs in with the right role can decide."
	default:
		text += names(e.MayDecide, e.MayDecideMore, f.People.More) + " can decide."
	}
	if e.Deadline == nil {
		return text + " No deadline."
	}
	left := span(e.Deadline.AtMs - f.NowMs)
	switch api.DeadlineAction(e.Deadline.Does) {
	case api.DeadlineDeny:
		return text + " Denied automatically in " + left + "."
	case api.DeadlineDecline:
		return text + " Declined automatically in " + left + "."
	case api.DeadlineAnswer:
		return text + " Answered with its default in " + left + "."
	case api.DeadlineKeep:
		if e.Deadline.AtMs <= f.NowMs {
			return text + " Its deadline passed " + ago(e.Deadline.AtMs, f.NowMs) + ", and it stays open."
		}
		return text + " It stays open after its deadline in " + left + "."
	case api.DeadlineCancelRun:
	}
	return text + " The run is cancelled in " + left + " without an answer."
}

// acknowledgedText says who is looking at a request.
func acknowledgedText(current []api.Acknowledgement, nowMs int64) string {
	if len(current) == 0 {
		return ""
	}
	people := make([]string, 0, len(current))
	untilMs := int64(0)
	for _, a := range current {
		name := "someone"
		if named(a.By) {
			name = shortName(a.By)
		}
		people = append(people, name)
		untilMs = max(untilMs, a.UntilMs)
	}
	verb := " is"
	if len(people) > 1 {
		verb = " are"
	}
	return " " + allNames(people) + verb + " looking at it for the next " + span(untilMs-nowMs) + "."
}

func settledText(request *model.Request, nowMs int64) string {
	when, by := ago(request.SettledAtMs, nowMs), ""
	switch {
	case request.RuleID != "":
		by = " by a standing rule"
	case request.Outcome != api.OutcomeExpired && named(request.ResolvedBy):
		by = " by " + shortName(request.ResolvedBy)
	}
	if request.Outcome == api.OutcomeExpired {
		if request.Kind == model.KindApproval {
			return "Expired " + when + " and was denied."
		}
		return "Expired " + when + "."
	}
	return outcomeWord(request.Outcome) + " " + when + by + "."
}

func outcomeWord(outcome api.Outcome) string {
	switch outcome {
	case api.OutcomeAllowed:
		return "Allowed"
	case api.OutcomeDenied:
		return "Denied"
	case api.OutcomeAnswered:
		return "Answered"
	case api.OutcomeDeclined:
		return "Declined"
	case api.OutcomeCancelled:
		return "Cancelled"
	case api.OutcomeExpired:
		return "Expired"
	}
	return "Settled"
}
