package explain_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	second = 1_000
	minute = 60 * second
	now    = 100 * minute
)

func run(id string, status api.Status, change ...func(*model.Run)) *model.RunRecord {
	record := &model.RunRecord{Run: model.Run{RunID: id, SessionID: "s", AgentID: "coder", Status: status, SubmittedAtMs: now - 5*minute, UpdatedAtMs: now - 4*second}}
	for _, change := range change {
		change(&record.Run)
	}
	return record
}

func asked(kind model.RequestKind, change ...func(*model.Request)) explain.RequestFacts {
	request := &model.Request{SessionID: "s", RunID: "r", RequestID: "q", Handle: "h", Kind: kind, CreatedAtMs: now - 2*minute, Body: api.JSON(`{}`)}
	for _, change := range change {
		change(request)
	}
	return explain.RequestFacts{
		NowMs: now, Request: request, RunKind: api.KindInput,
		People: explain.People{May: []string{"user:ada", "user:ben"}, You: &api.ExplainedCaller{MayDecide: true}},
	}
}

func facts(record *model.RunRecord, change ...func(*explain.RunFacts)) *explain.RunFacts {
	f := &explain.RunFacts{NowMs: now, Record: record}
	for _, change := range change {
		change(f)
	}
	return f
}

// TestRun checks the state and the text of each kind of wait.
func TestRun(t *testing.T) {
	t.Parallel()
	held := func(r *model.Run) {
		r.WorkerID, r.LeaseExpiresAtMs, r.ClaimableAtMs = "w", now+26*second, now+26*second
	}
	claimable := func(r *model.Run) { r.ClaimableAtMs = now - 3*minute }
	waiting := func(f *explain.RunFacts) { f.Requests = []explain.RequestFacts{asked(model.KindApproval)} }
	active := facts(run("first", api.StatusWaitingForApproval), waiting)
	chain := facts(run("second", api.StatusQueued), func(f *explain.RunFacts) { f.QueuedAhead, f.Before = 1, active })
	clarification := model.Request{Kind: model.KindClarification, CreatedAtMs: now - minute, Body: api.JSON(
		`{"request":{"id":"q"},"waiting_on":{"session_id":"parent","run_id":"asks","request_id":"q"},"parked":true}`)}
	parked := run("r", api.StatusWaitingForUserQuestion)
	parked.Requests = []model.Request{clarification}
	for name, c := range map[string]struct {
		facts   *explain.RunFacts
		state   api.ExplainState
		text    string
		finding string
	}{
		"over": {facts(run("r", api.StatusCompleted, func(r *model.Run) { r.FinishedAtMs = now - minute })), api.ExplainOver, "Completed 1 min ago.", ""},
		"held": {
			facts(run("r", api.StatusRunning, held)), api.ExplainHeld,
			"Worker w has the run. The run last changed 4 s ago, and the worker's lease ends in 26 s.", "",
		},
		"a child": {
			facts(run("r", api.StatusRunning, held), func(f *explain.RunFacts) {
				f.Child, f.ChildrenMore = facts(run("child", api.StatusWaitingForApproval), waiting), 2
			}), api.ExplainHeld,
			"Worker w has the run. The run last changed 4 s ago, and the worker's lease ends in 26 s. " +
				"In child session s: waiting for an approval for 2 min. ada or ben can decide. No deadline.", "",
		},
		"no worker": {
			facts(run("r", api.StatusQueued, claimable)), api.ExplainNoWorker,
			`Ready for 3 min. No worker is asking for runs of agent "coder".`, "",
		},
		"no worker at this replica": {
			facts(run("r", api.StatusQueued, claimable), func(f *explain.RunFacts) { f.OtherReplicas = true }), api.ExplainNoWorker,
			`Ready for 3 min. No worker is asking for runs of agent "coder" at this replica.`, "",
		},
		"workers": {
			facts(run("r", api.StatusRunning, claimable), func(f *explain.RunFacts) { f.WorkersWaiting = 2 }), api.ExplainNoWorker,
			`Ready for 3 min. 2 workers are waiting for runs of agent "coder": one should claim it at once.`, "",
		},
		"a lapsed lease": {
			facts(run("r", api.StatusRunning, func(r *model.Run) {
				r.WorkerID, r.LeaseExpiresAtMs, r.ClaimableAtMs = "w", now-7*second, now-7*second
			})), api.ExplainNoWorker, `Worker w stopped answering; its lease ended 7 s ago. No worker is asking for runs of agent "coder".`, "",
		},
		"delayed": {
			facts(run("r", api.StatusRunning, func(r *model.Run) {
				r.ClaimableAtMs, r.FailedAttempts, r.LastError = now+30*second, 2, "secret"
			})),
			api.ExplainDelayed, "The last attempt failed (2 failures so far). Workers can claim the run again in 30 s.", "",
		},
		"people": {active, api.ExplainWaitingForPeople, "Waiting for an approval for 2 min. ada or ben can decide. No deadline.", ""},
		"several requests": {
			facts(run("r", api.StatusWaitingForApproval), waiting, func(f *explain.RunFacts) {
				nobody := asked(model.KindQuestion)
				nobody.People.May = nil
				f.Requests, f.RequestsMore = slices.Insert(f.Requests, 0, nobody), 3
			}), api.ExplainWaitingForPeople, "5 requests open. Waiting for an approval for 2 min. ada or ben can decide. No deadline.", "",
		},
		"queued": {
			facts(run("third", api.StatusQueued), func(f *explain.RunFacts) { f.QueuedAhead, f.Before = 2, chain }), api.ExplainQueuedBehindRun,
			"Queued behind 2 runs of the session. Run first is first: waiting for an approval for 2 min. ada or ben can decide. No deadline.", "",
		},
		"queued behind a run out of reach": {
			facts(run("r", api.StatusQueued), func(f *explain.RunFacts) { f.QueuedAhead = 1 }), api.ExplainQueuedBehindRun,
			"Queued behind 1 run of the session that you may not see.", "",
		},
		"parent": {facts(parked), api.ExplainWaitingForParent, "Waiting for an answer from session parent.", ""},
		"parent, asked": {
			facts(parked, func(f *explain.RunFacts) {
				f.Asked = facts(run("asks", api.StatusWaitingForUserQuestion), func(f *explain.RunFacts) { f.Requests = []explain.RequestFacts{asked(model.KindQuestion)} })
			}), api.ExplainWaitingForParent,
			"Waiting for an answer from session parent: waiting for an answer for 2 min. ada or ben can decide. No deadline.", "",
		},
		"waits for nothing": {
			facts(run("r", api.StatusWaitingForApproval)), api.ExplainStuck, "The run waits, and nothing is open. Run holdpoint doctor.", "run_waits_for_nothing",
		},
		"first and not claimable": {
			facts(run("r", api.StatusQueued)), api.ExplainStuck,
			"The run is first in the queue, and no worker can claim it. Run holdpoint doctor.", "run_unclaimable",
		},
		"behind a run that is over": {
			facts(run("r", api.StatusQueued), func(f *explain.RunFacts) { f.QueuedAhead, f.Before = 1, facts(run("first", api.StatusFailed)) }),
			api.ExplainStuck, "Run first is over and still has the session's place. Run holdpoint doctor.", "active_run_wrong",
		},
		"a session that has ended": {
			facts(run("r", api.StatusQueued), func(f *explain.RunFacts) { f.SessionEnded = true }), api.ExplainQueuedBehindRun,
			"Its session has ended. The service is about to cancel the run.", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := explain.Run(c.facts)
			require.Equal(t, c.state, got.State)
			require.Equal(t, c.text, got.Text)
			require.Equal(t, c.finding, got.Finding)
			require.Contains(t, api.ExplainStates(), got.State)
			require.NotContains(t, got.Text, "secret", "the error of a handler stays in its run")
		})
	}
	chained := explain.Run(facts(run("third", api.StatusQueued), func(f *explain.RunFacts) { f.QueuedAhead, f.Before = 2, chain }))
	require.Equal(t, "second", chained.QueuedBehind.RunID)
	require.Equal(t, "first", chained.QueuedBehind.Explain.QueuedBehind.RunID)
}

// TestRequest checks the state and the text of requests.
// A rule that sets the escalation is named, and the text says so if the service has lost what the rule names.
func TestEscalatedByARule(t *testing.T) {
	t.Parallel()
	of := func(body string) api.RequestExplanation {
		facts := asked(model.KindApproval, func(r *model.Request) { r.Body = api.JSON(body) })
		return explain.Request(&facts)
	}
	require.Nil(t, of(`{"escalation":{"at_deadline":"keep"}}`).EscalatedBy)
	known := of(`{"escalation":{"by_rule":{"rule_id":"pay"}}}`)
	require.Equal(t, &api.EscalationRule{RuleID: "pay"}, known.EscalatedBy)
	require.Equal(t, "Waiting for an approval for 2 min. ada or ben can decide. No deadline.", known.Text)
	lost := of(`{"escalation":{"by_rule":{"rule_id":"pay","missing_name":"night"}}}`)
	require.Equal(t, known.Text+` A rule names the escalation "night", which the service did not have: its default applies.`, lost.Text)
	settled := asked(model.KindApproval, func(r *model.Request) {
		r.Body, r.Outcome, r.SettledAtMs = api.JSON(`{"escalation":{"by_rule":{"rule_id":"pay"}}}`), api.OutcomeAllowed, now
	})
	require.Nil(t, explain.Request(&settled).EscalatedBy)
}

func TestRequest(t *testing.T) {
	t.Parallel()
	due := func(in int64) func(*model.Request) {
		return func(r *model.Request) { r.DueAtMs = now + in }
	}
	settled := func(outcome api.Outcome, by, rule string) func(*model.Request) {
		return func(r *model.Request) {
			r.Outcome, r.ResolvedBy, r.RuleID, r.SettledAtMs = outcome, by, rule, now-3*minute
		}
	}
	people := func(f explain.RequestFacts, people explain.People) explain.RequestFacts {
		f.People = people
		return f
	}
	child := asked(model.KindQuestion, due(2*60*minute))
	child.RunKind = api.KindParentClarification
	for name, c := range map[string]struct {
		facts explain.RequestFacts
		state api.ExplainState
		text  string
	}{
		"approval with a deadline":       {asked(model.KindApproval, due(58*minute)), api.ExplainWaitingForPeople, "Waiting for an approval for 2 min. ada or ben can decide. Denied automatically in 58 min."},
		"question with a deadline":       {asked(model.KindQuestion, due(30*second)), api.ExplainWaitingForPeople, "Waiting for an answer for 2 min. ada or ben can decide. The run is cancelled in 30 s without an answer."},
		"question of a sub-agent":        {child, api.ExplainWaitingForPeople, "Waiting for an answer for 2 min. ada or ben can decide. Declined automatically in 2 h."},
		"many people":                    {people(asked(model.KindApproval), explain.People{May: []string{"user:a", "user:b", "service:c", "user:d", "user:e"}}), api.ExplainWaitingForPeople, "Waiting for an approval for 2 min. a, b, service:c and 2 more can decide. No deadline."},
		"more tokens than are read":      {people(asked(model.KindApproval), explain.People{May: []string{"user:a"}, More: true}), api.ExplainWaitingForPeople, "Waiting for an approval for 2 min. a and others can decide. No deadline."},
		"an open service":                {people(asked(model.KindApproval), explain.People{Anyone: true}), api.ExplainWaitingForPeople, "Waiting for an approval for 2 min. Anyone can decide. No deadline."},
		"an open service, four eyes":     {people(asked(model.KindApproval), explain.People{Anyone: true, Excluded: true}), api.ExplainNobodyCanDecide, "Waiting for an approval for 2 min. Nobody can allow it: it excludes its requester, and the service does not ask callers who they are. No deadline."},
		"nobody":                         {people(asked(model.KindApproval), explain.People{}), api.ExplainNobodyCanDecide, "Waiting for an approval for 2 min. Nobody can decide: no operator or admin who may has a credential that works. No deadline."},
		"an issuer":                      {people(asked(model.KindApproval), explain.People{Strangers: true}), api.ExplainWaitingForPeople, "Waiting for an approval for 2 min. Anyone who signs in with the right role can decide. No deadline."},
		"past its deadline":              {asked(model.KindApproval, due(-2*second)), api.ExplainNobodyCanDecide, "The deadline passed 2 s ago. The service is about to record it."},
		"allowed":                        {asked(model.KindApproval, settled(api.OutcomeAllowed, "user:ada", "")), api.ExplainSettled, "Allowed 3 min ago by ada."},
		"allowed where nobody is known":  {asked(model.KindApproval, settled(api.OutcomeAllowed, "user:local", "")), api.ExplainSettled, "Allowed 3 min ago."},
		"denied by a rule":               {asked(model.KindApproval, settled(api.OutcomeDenied, "user:ada", "rule-1")), api.ExplainSettled, "Denied 3 min ago by a standing rule."},
		"expired":                        {asked(model.KindApproval, settled(api.OutcomeExpired, "system", "")), api.ExplainSettled, "Expired 3 min ago and was denied."},
		"a question that was answered":   {asked(model.KindQuestion, settled(api.OutcomeAnswered, "user:ada", "")), api.ExplainSettled, "Answered 3 min ago by ada."},
		"a question that nobody answers": {asked(model.KindQuestion, settled(api.OutcomeExpired, "system", "")), api.ExplainSettled, "Expired 3 min ago."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := explain.Request(&c.facts)
			require.Equal(t, c.state, got.State)
			require.Equal(t, c.text, got.Text)
			require.NotNil(t, got.MayDecide)
			if got.You != nil {
				require.Equal(t, c.state == api.ExplainWaitingForPeople, got.You.MayDecide)
			}
		})
	}
	crowd := asked(model.KindApproval)
	crowd.People.May = slices.Repeat([]string{"user:a"}, api.MaxMayDecide+7)
	got := explain.Request(&crowd)
	require.Len(t, got.MayDecide, api.MaxMayDecide)
	require.Equal(t, int64(7), got.MayDecideMore)
}

// TestNotices checks the sentence about notifications.
func TestNotices(t *testing.T) {
	t.Parallel()
	sent := func(who string, state api.NoticeState, change ...func(*api.ExplainedNotice)) explain.Notice {
		n := api.ExplainedNotice{Who: who, Channel: "mail", State: state, AtMs: now - 3*minute, Attempts: 2}
		for _, change := range change {
			change(&n)
		}
		return explain.Notice{ExplainedNotice: n}
	}
	failing := func(n *api.ExplainedNotice) { n.Error, n.NextAtMs = "the mail server answered 451", now+20*second }
	for name, c := range map[string]struct {
		notices *explain.Notices
		text    string
	}{
		"no channels":             {nil, ""},
		"nobody":                  {&explain.Notices{Nobody: true}, " Nobody was notified."},
		"not yet":                 {&explain.Notices{AtMs: now + 20*second}, " People are notified in 20 s."},
		"now":                     {&explain.Notices{AtMs: now}, ""},
		"sent":                    {&explain.Notices{Sent: []explain.Notice{sent("user:ada", api.NoticeSent)}}, " Notified: ada (mail, 3 min ago)."},
		"a service without names": {&explain.Notices{Sent: []explain.Notice{sent("user:local", api.NoticeSent)}}, " Notified: by mail, 3 min ago."},
		"at the inbox": {
			&explain.Notices{Sent: []explain.Notice{sent("user:ada", api.NoticePending, func(n *api.ExplainedNotice) { n.Attempts, n.AtInbox, n.NextAtMs = 0, true, now+20*second })}},
			" Notified: ada (mail, held back while their inbox is open).",
		},
		"being sent": {&explain.Notices{Sent: []explain.Notice{sent("user:ada", api.NoticePending)}}, " Notified: ada (mail, being sent)."},
		"several": {
			&explain.Notices{Sent: []explain.Notice{
				sent("user:ada", api.NoticeSent), sent("user:ben", api.NoticePending, failing), sent("user:eve", api.NoticeFailed), sent("user:joe", api.NoticeSent),
			}},
			" Notified: eve (mail, not reached, given up 3 min ago), ben (mail, 2 failures, next attempt in 20 s), ada (mail, 3 min ago) and 1 more.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := asked(model.KindApproval)
			facts.Notices = c.notices
			require.Equal(t, "Waiting for an approval for 2 min. ada or ben can decide. No deadline."+c.text, explain.Request(&facts).Text)
		})
	}
}

// The next step of an escalation, a snooze of the reader, and messages that are held back.
func TestEscalationAndSnooze(t *testing.T) {
	t.Parallel()
	facts := asked(model.KindApproval, func(r *model.Request) {
		r.Body = api.JSON(`{"expires_at_ms":1,"escalation":{"at_deadline":"keep","steps":[{"notify":["role:admin"]},{"notify":["group:finance","role:operator","user:ada","user:dan"]}]}}`)
		r.EscalationState = api.JSON(fmt.Sprintf(`{"next_step":1,"next_at_ms":%d}`, now+30*minute))
		r.Acknowledgement = api.JSON(fmt.Sprintf(`[{"by":"user:ben","state":"snoozed","at_ms":1,"until_ms":%d}]`, now+5*minute))
	})
	facts.Notices = &explain.Notices{AtMs: now + 30*minute, Sent: []explain.Notice{{ExplainedNotice: api.ExplainedNotice{
		Who: "user:ben", Channel: "mail", State: api.NoticePending, NextAtMs: now + 5*minute,
	}}}}
	e := explain.Request(&facts)
	require.Equal(t, &api.ExplainedNext{AtMs: now + 30*minute, Does: "notify", Step: 1, Who: []string{"group:finance", "role:operator", "user:ada", "user:dan"}}, e.Next)
	require.Contains(t, e.Text, "and it stays open.")
	require.Contains(t, e.Text, " Notified: ben (mail, held back for at least 5 min). Next: group finance, operators, ada and 1 more, in 30 min.")
	require.Zero(t, e.SnoozedUntilMs)
	require.NotContains(t, e.Text, "snooze")
	facts.Reader = "user:ben"
	e = explain.Request(&facts)
	require.EqualValues(t, now+5*minute, e.SnoozedUntilMs)
	require.Contains(t, e.Text, " You snooze it for the next 5 min.")
	facts.Request.EscalationState = api.JSON(fmt.Sprintf(`{"next_step":1,"next_at_ms":%d,"messages":%d}`, now+30*minute, api.MaxEscalationMessages))
	e = explain.Request(&facts)
	require.Nil(t, e.Next, "a step behind the limit of messages notifies nobody")
	require.NotContains(t, e.Text, "Next:")
}

// Whom the steps of an escalation did not reach is said, with the reasons.
func TestNotReached(t *testing.T) {
	t.Parallel()
	facts := asked(model.KindApproval, func(r *model.Request) {
		r.Body = api.JSON(`{"escalation":{"steps":[{"notify":["user:mal"]},{"notify":["role:admin"]}]}}`)
		r.EscalationState = api.JSON(fmt.Sprintf(
			`{"next_step":1,"next_at_ms":%d,"not_reached":[{"who":"user:mal","why":"no_address"},{"who":"oncall:pay","why":"on_call_failed"},{"who":"user:local","why":"of a newer version"}]}`, now+30*minute))
	})
	require.Empty(t, explain.Request(&facts).NotReached, "nobody is notified")
	facts.Notices = &explain.Notices{AtMs: now + 30*minute}
	e := explain.Request(&facts)
	require.Equal(t, []api.ExplainedNotReached{
		{Who: "user:mal", WhyNot: "no_address"}, {Who: "oncall:pay", WhyNot: "on_call_failed"}, {Who: "user:local", WhyNot: "of a newer version"},
	}, e.NotReached)
	require.Contains(t, e.Text, " People are notified in 30 min."+
		" Not reached: mal (no verified address), on call for pay (the source failed) and everyone (of a newer version).")
}
