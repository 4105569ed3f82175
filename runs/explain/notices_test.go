package explain_test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// rows is a store with one settled request and the effects of its run.
type rows struct {
	reads.Reader
	request model.Request
	effects []model.Effect
}

func (r *rows) DecisionByHandle(context.Context, string) (*model.DecidedRequest, error) {
	return &model.DecidedRequest{PendingRequest: model.PendingRequest{Request: r.request, AgentID: "coder", RunKind: api.KindInput}}, nil
}

func (r *rows) Effects(_ context.Context, q reads.EffectQuery) (found []model.Effect, _ error) {
	slices.SortFunc(r.effects, func(a, b model.Effect) int {
		return cmp.Or(cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), cmp.Compare(a.EffectID, b.EffectID))
	})
	size := 0
	for _, effect := range r.effects {
		if q.State != "" && q.State != effect.State {
			continue
		}
		if q.After == nil {
			q.After = &reads.EffectPosition{}
		}
		behind := effect.CreatedAtMs > q.After.CreatedAtMs || effect.CreatedAtMs == q.After.CreatedAtMs && effect.EffectID > q.After.EffectID
		if behind && (q.WebhookID == "" || effect.WebhookID == q.WebhookID) && len(found) < q.Limit {
			if size += len(effect.Payload); q.Budget != nil && size > q.Budget.MaxBytes && len(found) > 0 {
				q.Budget.Cut = true
				break
			}
			found = append(found, effect)
		}
	}
	return found, nil
}

// A message is withdrawn once its channel has done so, and not before.
func TestNoticesOfASettledRequest(t *testing.T) {
	t.Parallel()
	const settled = now - 5*minute
	effect := func(handle, channel, who string, state api.EffectState, createdMs, finishedMs int64) model.Effect {
		e := model.Effect{
			SessionID: "s", RunID: "r", Kind: api.EffectNotify, State: state, WebhookID: model.NoticeWebhookID(channel), CreatedAtMs: createdMs, FinishedAtMs: finishedMs,
			Attempts: 1, EffectID: model.NoticeEffectID(channel, handle, who, 0), Payload: api.JSON(fmt.Sprintf(`{"request_handle":%q,"request_id":"q","principal":%q,"channel":%q,"step":0}`, handle, who, channel)),
		}
		if who == "" {
			e.EffectID, e.Payload = model.WithdrawalEffectID(channel, handle), api.JSON(fmt.Sprintf(`{"request_handle":%q,"request_id":"q","channel":%q,"step":0,"withdraws":true}`, handle, channel))
		}
		return e
	}
	request := asked(model.KindApproval, func(r *model.Request) {
		r.Outcome, r.SettledAtMs, r.ResolvedBy, r.CreatedAtMs = api.OutcomeAllowed, settled, "user:ada", now-20*minute
	})
	counted := effect("h", "slack", "user:cyd", api.EffectDone, now-19*minute, now-18*minute)
	counted.Attempts = 0
	sent := []model.Effect{
		effect("earlier", "slack", "user:eve", api.EffectDone, now-30*minute, now-30*minute),
		effect("h", "slack", "user:ada", api.EffectDone, now-19*minute, now-18*minute),
		effect("h", "slack", "user:ben", api.EffectFailed, now-19*minute, now-17*minute),
		effect("h", "mail", "user:dan", api.EffectDone, now-19*minute, now-16*minute),
		effect("h", "mail", "user:joe", api.EffectDone, now-6*minute, settled+second),
		counted,
		effect("h", "mail", "user:zoe", api.EffectPending, now-6*minute, 0),
		effect("other", "slack", "user:eve", api.EffectDone, now-6*minute, now-6*minute),
		effect("other", "slack", "", api.EffectDone, settled, now),
	}
	explained := func(withdrawal ...model.Effect) *api.RequestExplanation {
		c := &explain.Collector{
			Reader: &rows{request: *request.Request, effects: slices.Concat(sent, withdrawal)}, Channels: []string{"mail", "push", "slack"},
			NowMs: func(context.Context) (int64, error) { return now, nil },
		}
		e, err := c.OfRequest(t.Context(), "h", runs.Actor{})
		require.NoError(t, err)
		return e
	}
	states := func(e *api.RequestExplanation) map[string]api.NoticeState {
		of := map[string]api.NoticeState{}
		for _, n := range e.Notified {
			of[n.Who] = n.State
		}
		return of
	}
	taken := explained(effect("h", "slack", "", api.EffectDone, settled, now-4*minute))
	require.Equal(t, map[string]api.NoticeState{"user:ada": api.NoticeWithdrawn, "user:ben": api.NoticeFailed, "user:cyd": api.NoticeSkipped, "user:dan": api.NoticeSent}, states(taken))
	require.Equal(t, "Allowed 5 min ago by ada. Notified: ben (slack, not reached, given up 17 min ago), dan (mail, 16 min ago), ada (slack, withdrawn 4 min ago) and 1 more.", taken.Text)
	require.EqualValues(t, now-4*minute, taken.Notified[0].AtMs)

	for name, state := range map[string]api.EffectState{"not yet": api.EffectPending, "given up by an older service": api.EffectFailed} {
		require.Equal(t, api.NoticeSent, states(explained(effect("h", "slack", "", state, settled, 0)))["user:ada"], name)
	}
	givenUp := effect("h", "slack", "", api.EffectDone, settled, now-4*minute)
	givenUp.Attempts = 0
	require.Equal(t, api.NoticeSent, states(explained(givenUp))["user:ada"], "a withdrawal that did not happen")
	require.Equal(t, api.NoticeSent, states(explained())["user:ada"], "a channel that does not withdraw")
	sent = nil
	require.Equal(t, "Allowed 5 min ago by ada.", explained().Text)

	// Nobody was reached: the request was settled before the message at the next address was sent.
	first, next := effect("h", "mail", "user:ben", api.EffectDone, now-19*minute, now-17*minute), effect("h", "slack", "user:ben", api.EffectPending, now-17*minute, 0)
	next.Payload = api.JSON(fmt.Sprintf(`{"request_handle":"h","request_id":"q","principal":"user:ben","channel":"slack","step":0,"turn":1,"in_place_of":%q,"failure":"status 410"}`, first.EffectID))
	sent = []model.Effect{first, next}
	require.Equal(t, map[string]api.NoticeState{"user:ben": api.NoticeMoved}, states(explained()))
	require.Equal(t, "Allowed 5 min ago by ada.", explained().Text)
}

// manyRows is a store with an open request, whose run has many messages about earlier ones.
type manyRows struct {
	*rows
	run model.RunRecord
}

func (m *manyRows) Run(context.Context, string) (*model.RunRecord, error) { return &m.run, nil }

// openDirectory asks for no credentials.
type openDirectory struct{ explain.Directory }

func (openDirectory) Open(context.Context) (bool, error) { return true, nil }

// Every message about the request counts, however many other messages its run has.
func TestNoticesBehindManyOthers(t *testing.T) {
	t.Parallel()
	request := asked(model.KindApproval, func(r *model.Request) { r.CreatedAtMs = now - 20*minute })
	message := func(handle, who, member string, n int64) model.Effect {
		return model.Effect{
			SessionID: "s", RunID: "r", Kind: api.EffectNotify, State: api.EffectDone, WebhookID: model.NoticeWebhookID("mail"), CreatedAtMs: now - 10*minute + n,
			FinishedAtMs: now - 9*minute + n, Attempts: 1, EffectID: fmt.Sprintf("notify:mail:%s:0:%05d", handle, n),
			Payload: api.JSON(fmt.Sprintf(`{"request_handle":%q,"request_id":"q","principal":%q,"channel":"mail","step":0%s}`, handle, who, member)),
		}
	}
	var effects []model.Effect
	for n := range int64(250) {
		effects = append(effects, message("other", "user:eve", "", n))
	}
	var shows func(*model.Effect) api.EffectView
	explained := func(more ...model.Effect) *api.RequestExplanation {
		c := &explain.Collector{
			ShowEffect: shows, Channels: []string{"mail"}, NowMs: func(context.Context) (int64, error) { return now, nil }, Directory: openDirectory{},
		}
		store := &manyRows{rows: &rows{request: *request.Request, effects: slices.Concat(effects, more)}}
		c.Reader, c.Whole = store, store
		e, err := c.OfRequest(t.Context(), "h", runs.Actor{})
		require.NoError(t, err)
		return e
	}
	require.Contains(t, explained().Text, " Nobody was notified.")
	first := message("h", "user:ada", "", 300)
	again := message("h", "user:ada", fmt.Sprintf(`,"turn":1,"in_place_of":%q,"failure":"status 410"`, first.EffectID), 301)
	e := explained(first, again)
	require.Contains(t, e.Text, " Notified: ada (mail, 8 min ago; first tried by mail).", "she was reached")
	require.Equal(t, api.NoticeMoved, e.Notified[0].State)
	require.Equal(t, "status 410", e.Notified[0].Error)
	require.Equal(t, "mail", e.Notified[0].NextChannel)
	last := again
	last.State, last.LastError = api.EffectFailed, "status 404"
	require.Contains(t, explained(first, last).Text, " Notified: ada (mail, not reached, given up 8 min ago; first tried by mail).")
	// The reasons are as in the effects below: only some callers see them.
	shows = func(*model.Effect) api.EffectView { return api.EffectView{LastError: "hidden"} }
	for _, notice := range explained(first, last).Notified {
		require.Equal(t, "hidden", notice.Error)
	}
	// What is not read is not denied.
	for n := range int64(2_000) {
		effects = append(effects, message("other", "user:eve", "", 1_000+n))
	}
	require.NotContains(t, explained().Text, "Nobody was notified")
}

// A message of a channel that has another name by now, or is not in the file any more, was sent all the same.
func TestNoticesOfAChannelThatWasRenamed(t *testing.T) {
	t.Parallel()
	request := asked(model.KindApproval, func(r *model.Request) { r.CreatedAtMs = now - 20*minute })
	message := model.Effect{
		SessionID: "s", RunID: "r", Kind: api.EffectNotify, State: api.EffectDone, WebhookID: model.NoticeWebhookID("mail"), CreatedAtMs: now - 10*minute,
		FinishedAtMs: now - 8*minute, Attempts: 1, EffectID: model.NoticeEffectID("mail", "h", "user:ada", 0),
		Payload: api.JSON(`{"request_handle":"h","request_id":"q","principal":"user:ada","channel":"mail","step":0}`),
	}
	delivery := model.Effect{
		SessionID: "s", RunID: "r", Kind: api.EffectDeliverWebhook, State: api.EffectDone, WebhookID: "webhook_1", CreatedAtMs: now - 10*minute,
		FinishedAtMs: now - 8*minute, Attempts: 1, EffectID: "deliver_webhook:1", Payload: message.Payload,
	}
	large := func(n string) model.Effect {
		e := delivery
		e.EffectID, e.Payload = "deliver_webhook:"+n, api.JSON(`"`+strings.Repeat("x", 3<<20)+`"`)
		return e
	}
	for name, test := range map[string]struct {
		channels []string
		effects  []model.Effect
		want     string
	}{
		"it has its name":        {[]string{"mail", "slack"}, []model.Effect{message, delivery}, " Notified: ada (mail, 8 min ago)."},
		"it has another one":     {[]string{"post", "slack"}, []model.Effect{message, delivery}, " Notified: ada (mail, 8 min ago)."},
		"there were no messages": {[]string{"post", "slack"}, []model.Effect{delivery}, " Nobody was notified."},
		"only large others":      {[]string{"post", "slack"}, []model.Effect{large("1"), large("2")}, " No deadline."},
	} {
		store := &manyRows{rows: &rows{request: *request.Request, effects: test.effects}}
		c := &explain.Collector{
			Reader: store, Whole: store, Channels: test.channels, Directory: openDirectory{}, NowMs: func(context.Context) (int64, error) { return now, nil },
		}
		e, err := c.OfRequest(t.Context(), "h", runs.Actor{})
		require.NoError(t, err)
		require.Regexp(t, regexp.QuoteMeta(test.want)+"$", e.Text, name)
	}
}

// A message that waits because its person got many is not one that failed.
func TestANoticeHeldBackByAFlood(t *testing.T) {
	t.Parallel()
	request := asked(model.KindApproval, func(r *model.Request) { r.CreatedAtMs = now - 20*minute })
	held := model.Effect{
		SessionID: "s", RunID: "r", Kind: api.EffectNotify, State: api.EffectPending, WebhookID: model.NoticeWebhookID("mail"), CreatedAtMs: now - 2*minute,
		DueAtMs: now + 8*minute, LastError: model.HeldByFlood, EffectID: model.NoticeEffectID("mail", "h", "user:ada", 0),
		Payload: api.JSON(`{"request_handle":"h","request_id":"q","principal":"user:ada","channel":"mail","step":0}`),
	}
	store := &manyRows{rows: &rows{request: *request.Request, effects: []model.Effect{held}}}
	c := &explain.Collector{
		Reader: store, Whole: store, Channels: []string{"mail"}, Directory: openDirectory{}, NowMs: func(context.Context) (int64, error) { return now, nil },
	}
	e, err := c.OfRequest(t.Context(), "h", runs.Actor{})
	require.NoError(t, err)
	require.Contains(t, e.Text, " Notified: ada (mail, held back for at least 8 min).")
	require.Empty(t, e.Notified[0].Error)
	require.False(t, e.Notified[0].AtInbox)
}

// A message that is put off after an attempt was interrupted is held back. Until a claim ends, it may be on its way.
func TestANoticeHeldBackAfterAnInterruptedAttempt(t *testing.T) {
	t.Parallel()
	request := asked(model.KindApproval, func(r *model.Request) { r.CreatedAtMs = now - 20*minute })
	for name, test := range map[string]struct {
		dueMs     int64
		lastError string
		want      string
	}{
		"quiet hours":   {now + 7*60*minute, "", "held back for at least 7 h"},
		"a flood":       {now + 8*minute, model.HeldByFlood, "held back for at least 8 min"},
		"it is claimed": {now + model.WebhookLeaseMs, "", "being sent"},
	} {
		effect := model.Effect{
			SessionID: "s", RunID: "r", Kind: api.EffectNotify, State: api.EffectPending, WebhookID: model.NoticeWebhookID("mail"), CreatedAtMs: now - 2*minute,
			Attempts: 1, DueAtMs: test.dueMs, LastError: test.lastError, EffectID: model.NoticeEffectID("mail", "h", "user:ada", 0),
			Payload: api.JSON(`{"request_handle":"h","request_id":"q","principal":"user:ada","channel":"mail","step":0}`),
		}
		require.Contains(t, explainedOpen(t, request.Request, effect).Text, " Notified: ada (mail, "+test.want+").", name)
	}
}

// explainedOpen explains an open request whose run has these effects.
func explainedOpen(t *testing.T, request *model.Request, effects ...model.Effect) *api.RequestExplanation {
	t.Helper()
	store := &manyRows{rows: &rows{request: *request, effects: effects}}
	c := &explain.Collector{
		Reader: store, Whole: store, Channels: []string{"mail", "slack"}, Directory: openDirectory{}, NowMs: func(context.Context) (int64, error) { return now, nil },
	}
	e, err := c.OfRequest(t.Context(), "h", runs.Actor{})
	require.NoError(t, err)
	return e
}

// The message of the next step goes to the person's first address again: it was not tried elsewhere before.
func TestTheNextStepWasNotTriedElsewhere(t *testing.T) {
	t.Parallel()
	request := asked(model.KindApproval, func(r *model.Request) { r.CreatedAtMs = now - 40*minute })
	sent := func(channel string, step, atMs int64, member string) model.Effect {
		return model.Effect{
			SessionID: "s", RunID: "r", Kind: api.EffectNotify, State: api.EffectDone, WebhookID: model.NoticeWebhookID(channel), CreatedAtMs: atMs,
			FinishedAtMs: atMs, Attempts: 1, EffectID: model.NoticeEffectID(channel, "h", "user:ada", step),
			Payload: api.JSON(fmt.Sprintf(`{"request_handle":"h","request_id":"q","principal":"user:ada","channel":%q,"step":%d%s}`, channel, step, member)),
		}
	}
	first := sent("mail", 0, now-30*minute, "")
	moved := sent("slack", 0, now-29*minute, fmt.Sprintf(`,"turn":1,"in_place_of":%q,"failure":"status 410"`, first.EffectID))
	e := explainedOpen(t, request.Request, first, moved, sent("mail", 1, now-minute, ""))
	require.Contains(t, e.Text, " Notified: ada (mail, 1 min ago), ada (slack, 29 min ago; first tried by mail).")
}
