package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// maxPending bounds the pending effects of a run that are read.
const maxPending = 100

// Notices says who was notified of a request.
type Notices struct {
	Sent []api.ExplainedNotice
	// AtMs is when people will be notified; 0 if that is over.
	AtMs int64
	// Nobody says that people were to be notified, and that there was nobody to notify.
	Nobody bool
}

// notices reads the notifications about the requests of a run, by handle.
func (c *Collector) notices(ctx context.Context, run *model.Run) (func(handle string) *Notices, error) {
	if len(c.Channels) == 0 {
		return func(string) *Notices { return nil }, nil
	}
	sent := map[string][]api.ExplainedNotice{}
	for _, channel := range c.Channels {
		effects, err := c.Reader.Effects(ctx, reads.EffectQuery{
			SessionID: run.SessionID, RunID: run.RunID, WebhookID: model.NoticeWebhookID(channel), Limit: api.MaxRecipients,
		})
		if err != nil {
			return nil, err
		}
		for i := range effects {
			notice, err := model.NoticeOf(&effects[i])
			if err != nil || notice.Withdraws {
				continue // a withdrawal, or a row that was changed outside of the service; doctor reports it
			}
			sent[notice.RequestHandle] = append(sent[notice.RequestHandle], explainedNotice(&effects[i], notice))
		}
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
		of := &Notices{Sent: sent[handle], AtMs: due[model.EffectID(api.EffectAdvanceRequest, handle)]}
		slices.SortStableFunc(of.Sent, func(a, b api.ExplainedNotice) int { return cmp.Compare(a.Who, b.Who) })
		of.Sent = of.Sent[:min(len(of.Sent), api.MaxRecipients)]
		of.Nobody = !silent && len(of.Sent) == 0 && of.AtMs == 0 && len(pending) < maxPending
		return of
	}, nil
}

// settledNotices reads the notifications about a settled request that were sent, and whether they were withdrawn.
func (c *Collector) settledNotices(ctx context.Context, request *model.Request) (*Notices, error) {
	of := &Notices{}
	for _, channel := range c.Channels {
		query := reads.EffectQuery{
			SessionID: request.SessionID, RunID: request.RunID, WebhookID: model.NoticeWebhookID(channel), Limit: api.MaxRecipients,
			After: &reads.EffectPosition{CreatedAtMs: request.CreatedAtMs - 1},
		}
		effects, err := c.Reader.Effects(ctx, query)
		if err != nil {
			return nil, err
		}
		var sent []api.ExplainedNotice
		for i := range effects {
			notice, err := model.NoticeOf(&effects[i])
			if err == nil && !notice.Withdraws && notice.RequestHandle == request.Handle && effects[i].State != api.EffectPending {
				sent = append(sent, explainedNotice(&effects[i], notice))
			}
		}
		if len(sent) == 0 {
			continue
		}
		// The withdrawal was written with the decision. It has the next id behind this one.
		id := model.WithdrawalEffectID(channel, request.Handle)
		query.After, query.Limit = &reads.EffectPosition{CreatedAtMs: request.SettledAtMs, EffectID: id[:len(id)-1]}, 1
		if effects, err = c.Reader.Effects(ctx, query); err != nil {
			return nil, err
		}
		withdrawn := len(effects) == 1 && effects[0].EffectID == id && effects[0].State == api.EffectDone
		for _, notice := range sent {
			switch {
			case notice.State == api.NoticeFailed:
			case withdrawn:
				notice.State, notice.AtMs = api.NoticeWithdrawn, max(effects[0].FinishedAtMs, notice.AtMs)
			case notice.AtMs > request.SettledAtMs:
				continue // its effect also ends if the message is no longer sent
			}
			of.Sent = append(of.Sent, notice)
		}
	}
	slices.SortStableFunc(of.Sent, func(a, b api.ExplainedNotice) int { return cmp.Compare(a.Who, b.Who) })
	of.Sent = of.Sent[:min(len(of.Sent), api.MaxRecipients)]
	return of, nil
}

func explainedNotice(effect *model.Effect, notice *model.PersonNotice) api.ExplainedNotice {
	e := api.ExplainedNotice{
		Who: notice.Principal, Channel: notice.Channel, State: api.NoticePending, AtMs: effect.CreatedAtMs,
		Attempts: effect.Attempts, NextAtMs: effect.DueAtMs, Error: effect.LastError,
	}
	switch effect.State {
	case api.EffectDone:
		e.State, e.AtMs = api.NoticeSent, effect.FinishedAtMs
	case api.EffectFailed:
		e.State, e.AtMs = api.NoticeFailed, effect.FinishedAtMs
	case api.EffectPending:
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
	order := []api.NoticeState{api.NoticeFailed, api.NoticePending, api.NoticeSent, api.NoticeWithdrawn}
	sorted := slices.Clone(n.Sent)
	slices.SortStableFunc(sorted, func(a, b api.ExplainedNotice) int {
		return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State))
	})
	var told []string
	for i := range sorted[:min(len(sorted), maxNamed)] {
		told = append(told, noticeText(&sorted[i], nowMs))
	}
	text := " Notified: " + strings.Join(told, ", ")
	if more := len(sorted) - len(told); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "."
}

func noticeText(n *api.ExplainedNotice, nowMs int64) string {
	how := n.Channel
	switch {
	case n.State == api.NoticeSent:
		how += ", " + ago(n.AtMs, nowMs)
	case n.State == api.NoticeWithdrawn:
		how += ", withdrawn " + ago(n.AtMs, nowMs)
	case n.State == api.NoticeFailed:
		how += ", not reached, given up " + ago(n.AtMs, nowMs)
	case n.Error != "":
		how += fmt.Sprintf(", %s, next attempt in %s", plural(n.Attempts, "failure"), span(n.NextAtMs-nowMs))
	case n.Attempts == 0 && n.NextAtMs > nowMs:
		how += ", held back for " + span(n.NextAtMs-nowMs)
	default:
		how += ", being sent"
	}
	if !named(n.Who) {
		return "by " + how
	}
	return shortName(n.Who) + " (" + how + ")"
}
