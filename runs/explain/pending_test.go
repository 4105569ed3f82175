package explain_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// workers is a service where nobody has asked for runs for some time.
type workers struct {
	silentMs, knownMs int64
	named, others     bool
	holding           reads.Holding
	watched           map[string]reads.Watched
	leased            []model.Run
	channels          []string
	messages          []reads.PersonMessage
	// reads counts the reads of rows.
	reads int
}

func (w *workers) KnownMs() int64 { return w.knownMs }

func (w *workers) OthersServe() bool { return w.others }

func (w *workers) Holdings(_ context.Context, runIDs []string) (map[string]reads.Holding, error) {
	w.reads++
	found := map[string]reads.Holding{}
	for _, runID := range runIDs {
		found[runID] = w.holding
	}
	return found, nil
}

func (w *workers) Watched(_ context.Context, handles []string) (map[string]reads.Watched, error) {
	w.reads++
	found := maps.Clone(w.watched)
	maps.DeleteFunc(found, func(handle string, _ reads.Watched) bool { return !slices.Contains(handles, handle) })
	return found, nil
}

func (w *workers) LeasedRuns(_ context.Context, q reads.LeaseQuery) ([]model.Run, int64, error) {
	w.reads++
	leased := slices.DeleteFunc(slices.Clone(w.leased), func(run model.Run) bool { return q.WithoutCalls && run.Kind == api.KindCall })
	return leased[:min(q.Limit, len(leased))], now, nil
}

func (w *workers) PersonMessages(_ context.Context, _, handles []string, limit int) (found []reads.PersonMessage, whole bool, _ error) {
	w.reads++
	for _, message := range w.messages {
		if slices.Contains(handles, message.Handle) {
			found = append(found, message)
		}
	}
	return found[:min(len(found), limit)], len(found) <= limit, nil
}

func (w *workers) explain(t *testing.T, rows ...model.PendingRequest) []*api.PendingExplanation {
	t.Helper()
	c := &explain.Collector{
		Silence: func(string) (int64, bool) { return w.silentMs, w.named }, Workers: w, Messages: w, Channels: w.channels,
		NowMs: func(context.Context) (int64, error) { return now, nil },
	}
	all, err := c.OfPending(t.Context(), rows)
	require.NoError(t, err)
	require.Len(t, all, len(rows))
	return all
}

func pending(handle string, change ...func(*model.PendingRequest)) model.PendingRequest {
	facts := asked(model.KindApproval)
	row := model.PendingRequest{Request: *facts.Request, AgentID: "coder", RunKind: api.KindInput}
	row.Request.Handle, row.Request.RunID = handle, "run-"+handle
	for _, change := range change {
		change(&row)
	}
	return row
}

func TestNoWorker(t *testing.T) {
	t.Parallel()
	gone := func() *workers {
		return &workers{silentMs: 12 * minute, knownMs: math.MaxInt64, named: true, holding: reads.Holding{Claims: 1}}
	}
	w := gone()
	require.Equal(t, []*api.PendingExplanation{
		{Text: `No worker has asked for runs of agent "coder" for 12 min.`, NoWorkerSinceMs: now - 12*minute},
		{Text: `No worker has asked for runs of agent "coder" for 12 min.`, NoWorkerSinceMs: now - 12*minute},
	}, w.explain(t, pending("a"), pending("b")))
	require.Equal(t, 2, w.reads, "one of the runs and one of the leases, for all rows")

	w = gone()
	w.named, w.holding = false, reads.Holding{Claims: 1}
	require.NotNil(t, w.explain(t, pending("a"))[0], "a worker claimed it, before this process began")
	w = gone()
	w.knownMs = 3 * minute
	require.EqualValues(t, now-3*minute, w.explain(t, pending("a"))[0].NoWorkerSinceMs, "before, another replica may have had the worker")

	w = gone()
	w.knownMs, w.others = 30*minute, true
	require.EqualValues(t, now-12*minute, w.explain(t, pending("a"))[0].NoWorkerSinceMs, "the other replica tells what workers ask for")

	w = gone()
	w.leased = slices.Repeat([]model.Run{{AgentID: "coder", Kind: api.KindCall}}, api.MaxLeasesShown+1)
	require.NotNil(t, w.explain(t, pending("a"))[0], "the holder of a call claims no other run")

	for name, c := range map[string]struct {
		change func(*workers)
		row    model.PendingRequest
	}{
		"a worker asked a moment ago":         {func(w *workers) { w.silentMs = explain.SilentMs - 1 }, pending("a")},
		"another replica may have the worker": {func(w *workers) { w.knownMs = 0 }, pending("a")},
		"another replica was there just now":  {func(w *workers) { w.knownMs = explain.SilentMs - 1 }, pending("a")},
		"another replica does not tell":       {func(w *workers) { w.knownMs, w.others = 0, true }, pending("a")},
		"its worker is attached":              {func(w *workers) { w.holding.Attached = true }, pending("a")},
		"a worker of the agent is busy":       {func(w *workers) { w.leased = []model.Run{{AgentID: "other"}, {AgentID: "coder"}} }, pending("a")},
		"more leases than are read":           {func(w *workers) { w.leased = make([]model.Run, api.MaxLeasesShown+1) }, pending("a")},
		"a program that only reads it":        {func(w *workers) { w.named, w.holding = false, reads.Holding{} }, pending("a")},
		"a program that claims its own run":   {func(w *workers) { w.named, w.holding = false, reads.Holding{Claims: 1, InOneStep: true} }, pending("a")},
		"the run is over":                     {func(*workers) {}, pending("a", func(p *model.PendingRequest) { p.Request.Outcome = api.OutcomeAllowed })},
		"a call, whose caller waits for it":   {func(*workers) {}, pending("a", func(p *model.PendingRequest) { p.RunKind = api.KindCall })},
		"a question of a child session":       {func(*workers) {}, pending("a", func(p *model.PendingRequest) { p.RunKind = api.KindParentClarification })},
		"a callback that gets the decision":   {func(*workers) {}, pending("a", func(p *model.PendingRequest) { p.Request.Sealed = api.JSON(`{"callback":{}}`) })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := gone()
			c.change(w)
			require.Equal(t, []*api.PendingExplanation{nil}, w.explain(t, c.row))
		})
	}
}

// A call waits for its decision itself, unless its agent is gone.
func TestTheAgentOfACallIsGone(t *testing.T) {
	t.Parallel()
	const hour = 60 * minute
	call := func(p *model.PendingRequest) { p.RunKind = api.KindCall }
	since := func(ms int64) reads.Watched {
		return reads.Watched{LeaseExpiresAtMs: now - ms, Payload: api.JSON(fmt.Sprintf(`{"silent_ms":%d,"only_open":true}`, 24*hour))}
	}
	w := &workers{silentMs: 1, knownMs: math.MaxInt64, watched: map[string]reads.Watched{
		"gone": since(hour + minute), "there": since(-1), "released": {}, "input": since(minute), "late": since(25 * hour),
	}}
	got := w.explain(t, pending("gone", call), pending("there", call), pending("released", call), pending("other", call), pending("input"), pending("late", call))
	require.Equal(t, "The agent that asked has been away for 1 h. It gets the decision when it asks again; otherwise the request is withdrawn in 22 h.", got[0].Text)
	require.Equal(t, []*api.PendingExplanation{nil, nil, nil, nil}, got[1:5])
	require.Contains(t, got[5].Text, "withdrawn in less than 1 s.", "the service was down meanwhile")
	require.Equal(t, 1, w.reads, "for all rows")

	facts := asked(model.KindApproval)
	facts.Watched = reads.Watched{LeaseExpiresAtMs: now - 5_000, Payload: api.JSON(`{"silent_ms":30000}`)}
	require.Contains(t, explain.Request(&facts).Text, "The agent that asked has been away for 5 s; the request is withdrawn in 25 s.")
	facts.Watched = since(minute)
	require.Contains(t, explain.Request(&facts).Text, "No deadline. The agent that asked has been away for 1 min.")
}

// A healthy service reads nothing more for its lists.
func TestNothingToSayReadsNothing(t *testing.T) {
	t.Parallel()
	w := &workers{silentMs: 1, knownMs: math.MaxInt64}
	require.Equal(t, []*api.PendingExplanation{nil, nil}, w.explain(t, pending("a"), pending("b")))
	require.Zero(t, w.reads)
}

// credentials are the deciders of a service. Without any it asks for none.
type credentials struct {
	deciders        []*auth.Identity
	more, strangers bool
	reads           int
}

func (c *credentials) Open(context.Context) (bool, error) { return c.deciders == nil, nil }

func (c *credentials) Deciders(context.Context) (deciders []*auth.Identity, more bool, err error) {
	c.reads++
	return c.deciders, c.more, nil
}

func (c *credentials) Strangers() bool { return c.strangers }

// A row says that nobody may decide it, where that is certain.
func TestNobodyMayDecideARow(t *testing.T) {
	t.Parallel()
	excludes := func(p *model.PendingRequest) { p.Request.Body = api.JSON(`{"exclude_requester":true}`) }
	observer, operator := &auth.Identity{Role: api.RoleObserver}, &auth.Identity{Role: api.RoleOperator}
	elsewhere := &auth.Identity{Role: api.RoleOperator, SessionPrefixes: []string{"x-"}}
	coders := &auth.Identity{Role: api.RoleOperator, AgentIDs: []string{"coder"}}
	const (
		allow  = "Nobody can allow it: it excludes its requester, and the service does not ask callers who they are."
		decide = "Nobody can decide: no operator or admin who may has a credential that works."
	)
	for name, c := range map[string]struct {
		credentials credentials
		caller      *auth.Identity
		says        []string
		reads       int
	}{
		"no credentials asked":  {credentials{}, auth.Local(), []string{"", allow}, 0},
		"nobody for it":         {credentials{deciders: []*auth.Identity{elsewhere}}, observer, []string{decide, decide}, 1},
		"somebody for it":       {credentials{deciders: []*auth.Identity{elsewhere, coders}}, observer, []string{"", ""}, 1},
		"more than are read":    {credentials{deciders: []*auth.Identity{elsewhere}, more: true}, observer, []string{"", ""}, 1},
		"an issuer admits more": {credentials{deciders: []*auth.Identity{elsewhere}, strangers: true}, observer, []string{"", ""}, 0},
		"a caller who may":      {credentials{deciders: []*auth.Identity{elsewhere}}, operator, []string{"", ""}, 0},
		"an agent":              {credentials{deciders: []*auth.Identity{elsewhere}}, &auth.Identity{Role: api.RoleAgent}, []string{"", ""}, 0},
		"the service itself":    {credentials{deciders: []*auth.Identity{elsewhere}}, nil, []string{"", ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if c.caller != nil {
				ctx = auth.With(ctx, c.caller)
			}
			collector := &explain.Collector{Directory: &c.credentials, NowMs: func(context.Context) (int64, error) { return now, nil }}
			all, err := collector.OfPending(ctx, []model.PendingRequest{pending("a"), pending("b", excludes)})
			require.NoError(t, err)
			for i, says := range c.says {
				if says == "" {
					require.Nil(t, all[i])
				} else {
					require.Equal(t, &api.PendingExplanation{Text: says}, all[i])
				}
			}
			require.Equal(t, c.reads, c.credentials.reads)
		})
	}
}

func TestPendingEscalation(t *testing.T) {
	t.Parallel()
	steps := func(state string) func(*model.PendingRequest) {
		return func(p *model.PendingRequest) {
			p.Request.Body = api.JSON(`{"escalation":{"steps":[{"notify":["role:admin"]},{"notify":["group:finance","user:dan"]}]}}`)
			p.Request.EscalationState = api.JSON(state)
		}
	}
	w := &workers{knownMs: math.MaxInt64, channels: []string{"mail"}}
	waiting := fmt.Sprintf(`{"next_step":1,"next_at_ms":%d,"told":[{"who":"user:ada"},{"who":"user:local"}]}`, now+30*minute)
	looking := func(p *model.PendingRequest) {
		p.Request.Acknowledgement = api.JSON(fmt.Sprintf(`[{"by":"user:ben","state":"acknowledged","at_ms":1,"until_ms":%d}]`, now+45*minute))
	}
	got := w.explain(t, pending("a", steps(waiting)), pending("b", steps(waiting), looking),
		pending("c", steps(fmt.Sprintf(`{"next_step":0,"next_at_ms":%d}`, now))), pending("d", steps(`{}`)),
		pending("e", func(p *model.PendingRequest) { p.Request.EscalationState = api.JSON(`{"withdraw":["slack"]}`) }))
	require.Equal(t, "Messages to ada. Next: group finance and dan, in 30 min.", got[0].Text)
	require.Equal(t, []string{"user:ada", "user:local"}, got[0].Notified)
	require.Equal(t, &api.ExplainedNext{AtMs: now + 30*minute, Does: "notify", Step: 1, Who: []string{"group:finance", "user:dan"}}, got[0].Next)
	require.Equal(t, "Messages to ada. Next: group finance and dan, in 45 min.", got[1].Text, "not while somebody looks at it")
	require.Equal(t, []*api.PendingExplanation{nil, nil, nil}, got[2:], "a step that is due now, none, and no escalation")
	missed := `"not_reached":[{"who":"group:gone","why":"nobody"}]}`
	got = w.explain(t, pending("a", steps("{"+missed)), pending("b", steps(`{"told":[{"who":"user:ada"}],`+missed)))
	require.Equal(t, "Not reached: group gone (nobody who may decide).", got[0].Text)
	require.Equal(t, "Messages to ada.", got[1].Text)
	limited := fmt.Sprintf(`{"messages":%d,%s`, api.MaxEscalationMessages, waiting[1:])
	require.Equal(t, "Messages to ada.", w.explain(t, pending("a", steps(limited)))[0].Text, "a step behind the limit of messages notifies nobody")
	require.Equal(t, 3, w.reads, "one for each list")

	w.channels = nil
	require.Nil(t, w.explain(t, pending("a", steps(waiting)))[0], "a service that notifies nobody")

	w = &workers{silentMs: 5 * minute, knownMs: math.MaxInt64, named: true, channels: []string{"mail"}}
	require.Equal(t, `No worker has asked for runs of agent "coder" for 5 min. Messages to ada. Next: group finance and dan, in 30 min.`,
		w.explain(t, pending("a", steps(waiting)))[0].Text)
}

// A run that nobody claims says "at this replica" only while a worker may ask another one.
func TestNoWorkerOfARunAtOtherReplicas(t *testing.T) {
	t.Parallel()
	here, everywhere := `No worker is asking for runs of agent "coder" at this replica.`, `No worker is asking for runs of agent "coder".`
	for name, c := range map[string]struct {
		workers workers
		text    string
	}{
		"no other replica":            {workers{knownMs: 1}, everywhere},
		"another one does not tell":   {workers{others: true, silentMs: 12 * minute}, here},
		"it has told for a minute":    {workers{others: true, silentMs: 12 * minute, knownMs: minute}, here},
		"a worker asked a minute ago": {workers{others: true, silentMs: minute, knownMs: 12 * minute}, here},
		"nobody asks":                 {workers{others: true, silentMs: 2 * minute, knownMs: 2 * minute}, everywhere},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &manyRows{rows: &rows{}}
			store.run.Run = run("r", api.StatusQueued, func(r *model.Run) { r.ClaimableAtMs = now - 3*minute }).Run
			collector := &explain.Collector{
				Reader: store, Whole: store, Workers: &c.workers, Waiting: func(*reads.Claimable) int { return 0 },
				Silence: func(string) (int64, bool) { return c.workers.silentMs, false },
				NowMs:   func(context.Context) (int64, error) { return now, nil },
			}
			e, err := collector.OfRun(t.Context(), "r", runs.Actor{})
			require.NoError(t, err)
			require.Equal(t, "Ready for 3 min. "+c.text, e.Text)
		})
	}
}
