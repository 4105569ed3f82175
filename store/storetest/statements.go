package storetest

import (
	"context"
	"fmt"
	"reflect"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/read"
)

// ReadStatements returns every statement of an engine's reads by name: fixed ones by their
// field, lists with their query.
func ReadStatements(statements *read.Statements) map[string]read.Query {
	found := map[string]read.Query{}
	fields := reflect.ValueOf(*statements)
	for _, field := range reflect.VisibleFields(fields.Type()) {
		if field.Type.Kind() == reflect.String {
			found[field.Name] = read.Query{SQL: fields.FieldByIndex(field.Index).String()}
		}
	}
	add := func(kind string, query any, ask func(*read.Reader)) {
		for i, q := range AskedBy(statements, ask) {
			found[fmt.Sprintf("%s %+v %d", kind, query, i)] = q
		}
	}
	ctx := context.Background()
	for _, agent := range []string{"", "a"} {
		for _, status := range []api.Status{"", api.SessionEnded, api.SessionIdle, api.StatusRunning} {
			for _, after := range []string{"", "s"} {
				q := reads.SessionQuery{Status: status, AgentID: agent, After: after, Limit: 1}
				add("Sessions", q, func(r *read.Reader) { _, _ = r.Sessions(ctx, q) })
				add("CountSessions", q, func(r *read.Reader) { _, _ = r.CountSessions(ctx, q) })
			}
		}
	}
	for _, session := range []string{"", "s"} {
		for _, after := range []*reads.RequestPosition{nil, {SessionID: "s", RunID: "r", RequestID: "q"}} {
			q := reads.RequestQuery{Kind: model.KindApproval, SessionID: session, After: after, Limit: 1}
			for i := range 4 {
				q := q
				q.OpenAtMs, q.Below = int64(i&1), i&2 != 0
				add("PendingRequests", q, func(r *read.Reader) { _, _ = r.PendingRequests(ctx, q) })
				add("CountPendingRequests", q, func(r *read.Reader) { _, _ = r.CountPendingRequests(ctx, q) })
				q.Kind, q.EachQuestion = model.KindQuestion, true
				add("CountPendingRequests", q, func(r *read.Reader) { _, _ = r.CountPendingRequests(ctx, q) })
				q.AnyOf = []reads.Scope{{SessionPrefixes: []string{"a", "b"}}, {SessionPrefixes: []string{"c"}, AgentIDs: []string{"x"}}}
				add("CountPendingRequests", q, func(r *read.Reader) { _, _ = r.CountPendingRequests(ctx, q) })
				q.AnyOf = nil
				q.Oldest = true
				if session != "" {
					add("PendingRequests", q, func(r *read.Reader) { _, _ = r.PendingRequests(ctx, q) })
				}
			}
		}
		for _, filter := range []reads.RunQuery{{}, {AgentID: "a"}, {Status: api.StatusRunning}, {Status: api.StatusFailed}, {Kind: api.KindInput}, {Kind: api.KindInput, WithCalls: true}, {AgentID: "a", Status: api.StatusQueued, Kind: api.KindInput}} {
			for _, after := range []*reads.RunPosition{nil, {SubmittedAtMs: 1, RunID: "r"}, {Over: true, SubmittedAtMs: 1, RunID: "r"}} {
				for order := range 4 {
					q := filter
					q.SessionID, q.After, q.Last, q.PriorityActive, q.Limit = session, after, order&1 != 0, order&2 != 0, 1
					add("Runs", q, func(r *read.Reader) { _, _ = r.Runs(ctx, q) })
					add("CountRuns", q, func(r *read.Reader) { _, _ = r.CountRuns(ctx, q) })
				}
			}
		}
		for _, state := range []api.EffectState{"", api.EffectPending, api.EffectDone, api.EffectFailed} {
			for _, after := range []*reads.EffectPosition{nil, {CreatedAtMs: 1, EffectID: "f"}} {
				q := reads.EffectQuery{State: state, SessionID: session, After: after, Limit: 1}
				add("Effects", q, func(r *read.Reader) { _, _ = r.Effects(ctx, q) })
				add("CountEffects", q, func(r *read.Reader) { _, _ = r.CountEffects(ctx, q) })
			}
		}
		for _, agent := range []string{"", "a"} {
			for _, after := range []*reads.DecisionPosition{nil, {SettledAtMs: 1, Handle: "h"}} {
				q := reads.DecisionQuery{SessionID: session, AgentID: agent, ResolvedBy: "p", Outcome: api.OutcomeAllowed, SinceMs: 1, After: after, Limit: 1}
				add("Decisions", q, func(r *read.Reader) { _, _ = r.Decisions(ctx, q) })
				add("CountDecisions", q, func(r *read.Reader) { _, _ = r.CountDecisions(ctx, q) })
			}
		}
		for _, q := range []reads.DecisionQuery{{}, {AgentID: "a"}, {ResolvedBy: "p"}, {Outcome: api.OutcomeAllowed}, {SinceMs: 1}} {
			q.SessionID, q.Limit = session, 1
			add("Decisions", q, func(r *read.Reader) { _, _ = r.Decisions(ctx, q) })
			add("CountDecisions", q, func(r *read.Reader) { _, _ = r.CountDecisions(ctx, q) })
		}
		for _, after := range []*reads.RulePosition{nil, {CreatedAtMs: 1, RuleID: "l"}} {
			q := reads.RuleQuery{SessionID: session, After: after, Limit: 1}
			add("Rules", q, func(r *read.Reader) { _, _ = r.Rules(ctx, q) })
			add("CountRules", q, func(r *read.Reader) { _, _ = r.CountRules(ctx, q) })
		}
	}
	for _, state := range []api.EffectState{api.EffectPending, api.EffectFailed} {
		q := reads.EffectQuery{State: state, WebhookID: "w", Newest: true, Limit: 1}
		add("Effects", q, func(r *read.Reader) { _, _ = r.Effects(ctx, q) })
	}
	add("PersonMessages", "h", func(r *read.Reader) { _, _, _ = r.PersonMessages(ctx, []string{"mail"}, []string{"h"}, 1) })
	add("OwedCallbacks", 1, func(r *read.Reader) { _, _ = r.OwedCallbacks(ctx, 1) })
	add("DecisionByHandle", "h", func(r *read.Reader) { _, _ = r.DecisionByHandle(ctx, "h") })
	return found
}

// AskedBy returns the queries that a reader sends during do.
func AskedBy(statements *read.Statements, do func(*read.Reader)) []read.Query {
	asked := &recorder{}
	do(read.New(asked, statements, 1))
	return asked.queries
}

// recorder is a database without rows that records its queries.
type recorder struct{ queries []read.Query }

func (r *recorder) Ask(_ context.Context, queries ...read.Query) error {
	r.queries = append(r.queries, queries...)
	return nil
}

func (r *recorder) AskAtOneMoment(ctx context.Context, queries ...read.Query) error {
	return r.Ask(ctx, queries...)
}

func (r *recorder) Snapshot(ctx context.Context, do func(func(...read.Query) error) error) error {
	return do(func(queries ...read.Query) error { return r.Ask(ctx, queries...) })
}

func (r *recorder) List(texts []string) any { return texts }
func (r *recorder) Now() []any              { return nil }
