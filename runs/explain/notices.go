package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

const (
	// maxPending bounds the pending effects of a run that are read, and maxMessages the messages.
	maxPending  = 100
	maxMessages = 2_000
	// maxEffectBytes bounds the effects of every kind that are read to find messages.
	maxEffectBytes = 4 << 20
)

// Notices says who was notified of a request.
type Notices struct {
	Sent []Notice
	// AtMs is when people will be notified; 0 if that is over.
	AtMs int64
	// Nobody says that people were to be notified, and that there was nobody to notify.
	Nobody bool
}

// Notice is a message to a person.
type Notice struct {
	api.ExplainedNotice
	// Step is the Step of its [model.PersonNotice]: all addresses at which it was tried have the same.
	Step int64
}

// messages reads the messages about the requests of a run since a time, by handle. whole is false if the run has too
// many, and some are missing.
func (c *Collector) messages(ctx context.Context, sessionID, runID string, sinceMs int64) (sent map[string][]Notice, whole bool, err error) {
	sent = map[string][]Notice{}
	next := map[string]*model.PersonNotice{} // messages that took the place of another one, by the effect of that
	ids := map[string][]string{}
	add := func(effect *model.Effect, channels ...string) {
		notice, err := model.NoticeOf(effect)
		if err != nil || notice.Withdraws || slices.Contains(channels, notice.Channel) {
			return // a withdrawal, or a row that was changed outside of the service; doctor reports it
		}
		if notice.InPlaceOf != "" {
			next[notice.InPlaceOf] = notice
		}
		sent[notice.RequestHandle] = append(sent[notice.RequestHandle], c.explainedNotice(effect, notice))
		ids[notice.RequestHandle] = append(ids[notice.RequestHandle], effect.EffectID)
	}
	left := maxMessages
	for _, channel := range c.Channels {
		query := reads.EffectQuery{
			SessionID: sessionID, RunID: runID, WebhookID: model.NoticeWebhookID(channel), Limit: api.MaxRecipients,
			After: &reads.EffectPosition{CreatedAtMs: sinceMs - 1},
		}
		for {
			effects, err := c.Reader.Effects(ctx, query)
			if err != nil {
				return nil, false, err
			}
			for i := range effects {
				query.After = &reads.EffectPosition{CreatedAtMs: effects[i].CreatedAtMs, EffectID: effects[i].EffectID}
				add(&effects[i])
			}
			if left -= len(effects); left <= 0 || len(effects) < query.Limit {
				break
			}
		}
		if left <= 0 {
			break
		}
	}
	// Channels that were renamed or removed since have sent messages, too.
	budget := &reads.Budget{MaxBytes: maxEffectBytes}
	effects, err := c.Reader.Effects(ctx, reads.EffectQuery{
		SessionID: sessionID, RunID: runID, Limit: maxMessages, Budget: budget, After: &reads.EffectPosition{CreatedAtMs: sinceMs - 1},
	})
	if err != nil {
		return nil, false, err
	}
	for i := range effects {
		if effects[i].Kind == api.EffectNotify {
			add(&effects[i], c.Channels...)
		}
	}
	for handle, notices := range sent {
		for i := range notices {
			if moved := next[ids[handle][i]]; moved != nil {
				notices[i].State, notices[i].Error, notices[i].NextChannel = api.NoticeMoved, c.reason(moved.Failure), moved.Channel
			}
		}
	}
	return sent, left > 0 && len(effects) < maxMessages && !budget.Cut, nil
}

// notified returns the messages as an explanation has them; nil for none.
func (n *Notices) notified() (list []api.ExplainedNotice) {
	for i := range n.Sent {
		list = append(list, n.Sent[i].ExplainedNotice)
	}
	return list
}

// newest returns the newest messages, at most api.MaxRecipients, in the order of their people.
func newest(sent []Notice) []Notice {
	if len(sent) > api.MaxRecipients {
		slices.SortStableFunc(sent, func(a, b Notice) int { return cmp.Compare(b.AtMs, a.AtMs) })
		sent = sent[:api.MaxRecipients]
	}
	slices.SortStableFunc(sent, func(a, b Notice) int { return cmp.Compare(a.Who, b.Who) })
	return sent
}

// notices reads the notifications about open requests of a run since a time, by handle.
func (c *Collector) notices(ctx context.Context, run *model.Run, sinceMs int64) (func(handle string) *Notices, error) {
	if len(c.Channels) == 0 {
		return func(string) *Notices { return nil }, nil
	}
	sent, whole, err := c.messages(ctx, run.SessionID, run.RunID, sinceMs)
	if err != nil {
		return nil, err
	}
	pending, err := c.Reader.Effects(ctx, reads.EffectQuery{SessionID: run.SessionID, RunID: run.RunID, State: api.EffectPending, Limit: maxPending})
	if err != nil {
		return nil, err
	}
	due := map[string]int64{}
	for i := range pending {
		due[pending[i].EffectID] = pending[i].DueAtMs
	}
	// A service with no other channel notifies nobody until somebody turns it on in a browser.
	silent := slices.Equal(c.Channels, []string{api.PushChannel})
	return func(handle string) *Notices {
		of := &Notices{Sent: newest(sent[handle]), AtMs: due[model.EffectID(api.EffectAdvanceRequest, handle)]}
		of.Nobody = !silent && whole && len(of.Sent) == 0 && of.AtMs == 0 && len(pending) < maxPending
		return of
	}, nil
}

// unreachable returns the people who may decide an open request without steps of an escalation, were not notified of it, and
// have no verified address: at most api.MaxNotReached, of the first api.MaxMayDecide. It is empty before people are
// notified, and where nobody has turned notifications on.
func (c *Collector) unreachable(ctx context.Context, request *model.Request, people *People, notices *Notices) (without []string, err error) {
	if c.Reachable == nil || notices == nil || notices.AtMs != 0 || request.Escalates() || people.Anyone {
		return nil, nil
	}
	for _, principal := range people.May {
		if strings.HasPrefix(principal, runs.SelectUser) && len(without) < api.MaxMayDecide {
			without = append(without, principal)
		}
	}
	if len(without) == 0 {
		return nil, nil
	}
	with, err := c.Reachable(ctx, without)
	if err != nil || len(with) == 0 && slices.Equal(c.Channels, []string{api.PushChannel}) {
		return nil, err
	}
	for i := range notices.Sent {
		with = append(with, notices.Sent[i].Who)
	}
	without = slices.DeleteFunc(without, func(principal string) bool { return slices.Contains(with, principal) })
	return without[:min(len(without), api.MaxNotReached)], nil
}

// settledNotices reads the notifications about a settled request that were sent, and whether they were withdrawn.
func (c *Collector) settledNotices(ctx context.Context, request *model.Request) (*Notices, error) {
	if len(c.Channels) == 0 {
		return &Notices{}, nil
	}
	all, _, err := c.messages(ctx, request.SessionID, request.RunID, request.CreatedAtMs)
	if err != nil {
		return nil, err
	}
	withdrawnMs := map[string]int64{}
	of := &Notices{}
	for _, notice := range all[request.Handle] {
		atMs, known := withdrawnMs[notice.Channel]
		if !known {
			if atMs, err = c.withdrawnAt(ctx, request, notice.Channel); err != nil {
				return nil, err
			}
			withdrawnMs[notice.Channel] = atMs
		}
		switch {
		case notice.State == api.NoticePending:
			continue
		case notice.State == api.NoticeSent && atMs != 0:
			notice.State, notice.AtMs = api.NoticeWithdrawn, max(atMs, notice.AtMs)
		case notice.State != api.NoticeFailed && notice.State != api.NoticeMoved && notice.AtMs > request.SettledAtMs:
			continue // its effect also ends if the message is no longer sent
		}
		of.Sent = append(of.Sent, notice)
	}
	of.Sent = newest(of.Sent)
	return of, nil
}

// withdrawnAt returns when a channel withdrew its messages about a settled request; 0 if it has not.
func (c *Collector) withdrawnAt(ctx context.Context, request *model.Request, channel string) (int64, error) {
	// The withdrawal was written with the decision. It has the next id behind this one.
	id := model.WithdrawalEffectID(channel, request.Handle)
	effects, err := c.Reader.Effects(ctx, reads.EffectQuery{
		SessionID: request.SessionID, RunID: request.RunID, WebhookID: model.NoticeWebhookID(channel), Limit: 1,
		After: &reads.EffectPosition{CreatedAtMs: request.SettledAtMs, EffectID: id[:len(id)-1]},
	})
	if err != nil || len(effects) == 0 || effects[0].EffectID != id || effects[0].State != api.EffectDone {
		return 0, err
	}
	if effects[0].Attempts == 0 {
		return 0, nil // it was given up
	}
	return effects[0].FinishedAtMs, nil
}

// reason returns the reason of a failure as the caller may see it.
func (c *Collector) reason(failure string) string {
	if c.ShowEffect == nil || failure == "" {
		return failure
	}
	return c.ShowEffect(&model.Effect{LastError: failure}).LastError
}

func (c *Collector) explainedNotice(effect *model.Effect, notice *model.PersonNotice) Notice {
	e := Notice{Step: notice.Step, ExplainedNotice: api.ExplainedNotice{
		Who: notice.Principal, Channel: notice.Channel, State: api.NoticePending, AtMs: effect.CreatedAtMs,
		Attempts: effect.Attempts, NextAtMs: effect.DueAtMs, Error: c.reason(effect.LastError),
	}}
	switch effect.State {
	case api.EffectDone:
		e.State, e.AtMs = api.NoticeSent, effect.FinishedAtMs
		if effect.Attempts == 0 {
			e.State = api.NoticeSkipped
		}
	case api.EffectFailed:
		e.State, e.AtMs = api.NoticeFailed, effect.FinishedAtMs
	case api.EffectPending:
		if model.HeldBack(effect.LastError) {
			e.AtInbox, e.Error = effect.LastError == model.HeldAtInbox, ""
		}
	}
	return e
}

// text returns a sentence. Failures come first, because someone has to act on them.
func (n *Notices) text(nowMs int64) string {
	switch {
	case n.Nobody:
		return " Nobody was notified."
	case len(n.Sent) == 0 && n.AtMs > nowMs:
		return " People are notified in " + span(n.AtMs-nowMs) + "."
	case len(n.Sent) == 0:
		return ""
	}
	order := []api.NoticeState{api.NoticeFailed, api.NoticePending, api.NoticeSent, api.NoticeWithdrawn, api.NoticeSkipped}
	type message struct {
		who  string
		step int64
	}
	of := func(n *Notice) message { return message{n.Who, n.Step} }
	sorted, moved := make([]Notice, 0, len(n.Sent)), map[message][]string{}
	for _, notice := range n.Sent {
		if notice.State != api.NoticeMoved {
			sorted = append(sorted, notice)
		} else if channels := moved[of(&notice)]; !slices.Contains(channels, notice.Channel) {
			moved[of(&notice)] = append(channels, notice.Channel)
		}
	}
	if len(sorted) == 0 {
		return "" // settled before the message at the next address was sent
	}
	slices.SortStableFunc(sorted, func(a, b Notice) int {
		return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State))
	})
	var told []string
	for i := range sorted[:min(len(sorted), maxNamed)] {
		told = append(told, noticeText(&sorted[i].ExplainedNotice, moved[of(&sorted[i])], nowMs))
	}
	text := " Notified: " + strings.Join(told, ", ")
	if more := len(sorted) - len(told); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "."
}

// noticeText tells of a message, and by which channels it was tried before.
func noticeText(n *api.ExplainedNotice, tried []string, nowMs int64) string {
	how := n.Channel
	switch {
	case n.State == api.NoticeSent:
		how += ", " + ago(n.AtMs, nowMs)
	case n.State == api.NoticeSkipped:
		how += ", no message of its own"
	case n.State == api.NoticeWithdrawn:
		how += ", withdrawn " + ago(n.AtMs, nowMs)
	case n.State == api.NoticeFailed:
		how += ", not reached, given up " + ago(n.AtMs, nowMs)
	case n.Error != "":
		how += fmt.Sprintf(", %s, next attempt in %s", plural(n.Attempts, "failure"), span(n.NextAtMs-nowMs))
	case n.AtInbox:
		how += ", held back while their inbox is open"
	case n.Attempts == 0 && n.NextAtMs > nowMs, n.NextAtMs-nowMs > model.WebhookLeaseMs:
		// A claim ends earlier, even one of an attempt that was interrupted. The service looks again then, and may hold the message
		// back for longer, for example until quiet hours end.
		how += ", held back for at least " + span(n.NextAtMs-nowMs)
	default:
		how += ", being sent"
	}
	if len(tried) > 0 {
		how += "; first tried by " + allNames(tried)
	}
	if !named(n.Who) {
		return "by " + how
	}
	return shortName(n.Who) + " (" + how + ")"
}
