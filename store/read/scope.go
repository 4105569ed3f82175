package read

import (
	"context"
	"math/bits"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/columns"
)

// oneOf adds a condition that a column has one of the values; with none, nothing matches. The last value is repeated
// until there are a power of two: connections keep each statement that they have prepared.
func (f *filter) oneOf(column string, values []string) {
	if len(values) == 0 {
		f.and("1 = 0")
		return
	}
	missing := 1<<bits.Len(uint(len(values)-1)) - len(values)
	values = slices.Concat(values, slices.Repeat(values[len(values)-1:], missing))
	places := make([]string, len(values))
	for i, value := range values {
		places[i] = f.argument(value)
	}
	f.where = append(f.where, column+" IN ("+strings.Join(places, ", ")+")")
}

// prefixed adds a condition for a column of ids, unless there are no prefixes. It is an index
// range: ids are compared by their bytes, and the range ends before the prefix with its last
// byte incremented.
func (f *filter) prefixed(column string, prefixes []string) {
	if len(prefixes) == 0 {
		return
	}
	ranges := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		last := len(prefix) - 1
		ranges[i] = column + " >= " + f.argument(prefix) + " AND " + column + " < " + f.argument(prefix[:last]+string(prefix[last]+1))
	}
	condition := strings.Join(ranges, " OR ")
	if len(ranges) > 1 {
		condition = "(" + condition + ")"
	}
	f.where = append(f.where, condition)
}

// ofOneAgent makes the only agent of a scope the agent of a query that names none, and returns what
// is left of the scope: lists of one agent have an index.
func ofOneAgent(agentID *string, scope reads.Scope) reads.Scope {
	if *agentID == "" && len(scope.AgentIDs) == 1 {
		*agentID, scope.AgentIDs = scope.AgentIDs[0], nil
	}
	return scope
}

// reachesRun returns run_not_found for a run outside of the scope and for an invalid id. It reads no
// row of the run, so a hidden run takes as long as an unknown one.
func (r *Reader) reachesRun(ctx context.Context, runID string) error {
	unknown := refusal.UnknownRun(runID)
	if !refusal.ValidID(runID) {
		return unknown
	}
	if !r.scope.Bounded() {
		return nil
	}
	var f filter
	f.and("r.run_id = ?", runID)
	f.runWithin(&r.scope, "r")
	_, err := first(ctx, r.db, columns.Itself[int64], unknown, f.of("SELECT 1 FROM runs AS r"), f.args...)
	return err
}

// reachesSession is reachesRun for a session.
func (r *Reader) reachesSession(ctx context.Context, sessionID string) error {
	if !refusal.ValidID(sessionID) {
		return refusal.UnknownSession(sessionID)
	}
	if !r.scope.Bounded() {
		return nil
	}
	_, err := r.SessionHead(ctx, sessionID)
	return err
}

// reachesRulesOf reports whether the scope includes the rules of a session. The session need not
// exist if the scope depends only on its id.
func (r *Reader) reachesRulesOf(ctx context.Context, sessionID string) (bool, error) {
	switch {
	case !r.scope.Bounded():
		return true, nil
	case sessionID == rules.AllSessions || !r.scope.FitsID(sessionID):
		return false, nil
	}
	return r.scope.ReachesSession(ctx, sessionID, r.SessionHead)
}

// The conditions of a scope, none if it is not limited: sessionWithin for rows of s, runWithin
// for a table with the columns of runs, requestWithin for rows of q, and inSessionWithin for
// rows of which only the session matters.

func (f *filter) sessionWithin(scope *reads.Scope) {
	f.prefixed("s.session_id", scope.SessionPrefixes)
	if len(scope.AgentIDs) > 0 {
		f.oneOf("s.agent_id", scope.AgentIDs)
	}
	f.equals("s.principal", scope.OwnedBy)
}

func (f *filter) runWithin(scope *reads.Scope, table string) {
	f.prefixed(table+".session_id", scope.SessionPrefixes)
	if len(scope.AgentIDs) > 0 {
		f.oneOf(table+".agent_id", scope.AgentIDs)
	}
	f.ownedRun(table, scope)
}

// ownedRun adds a condition for the run that a row of r is, or that a row of another table is about.
func (f *filter) ownedRun(table string, scope *reads.Scope) {
	switch {
	case scope.OwnedBy == "":
	case table == "r":
		f.and("(r.principal = ? OR r.holder_principal = ?)", scope.OwnedBy, scope.OwnedBy)
	default:
		f.exists("FROM runs AS its WHERE its.session_id = "+table+".session_id AND its.run_id = "+table+".run_id", func(its *filter) {
			its.and("(its.principal = ? OR its.holder_principal = ?)", scope.OwnedBy, scope.OwnedBy)
		})
	}
}

func (f *filter) requestWithin(scope *reads.Scope) {
	f.prefixed("q.session_id", scope.SessionPrefixes)
	if len(scope.AgentIDs) > 0 {
		f.exists("FROM runs AS its WHERE its.session_id = q.session_id AND its.run_id = q.run_id", func(its *filter) {
			its.oneOf("its.agent_id", scope.AgentIDs)
		})
	}
	f.ownedRun("q", scope)
}

// requestWithinAny adds a condition that one of the scopes includes a row of q, unless there are none or one
// includes everything.
func (f *filter) requestWithinAny(scopes []reads.Scope) {
	if slices.ContainsFunc(scopes, func(scope reads.Scope) bool { return !scope.Bounded() }) {
		return
	}
	var alternatives []string
	for i := range scopes {
		one := filter{args: f.args}
		one.requestWithin(&scopes[i])
		f.args = one.args
		alternatives = append(alternatives, "("+strings.Join(one.where, " AND ")+")")
	}
	if len(alternatives) > 0 {
		f.where = append(f.where, "("+strings.Join(alternatives, " OR ")+")")
	}
}

func (f *filter) inSessionWithin(scope *reads.Scope, column string) {
	f.prefixed(column, scope.SessionPrefixes)
	if len(scope.AgentIDs) > 0 || scope.OwnedBy != "" {
		f.exists("FROM sessions AS its WHERE its.session_id = "+column, func(its *filter) {
			if len(scope.AgentIDs) > 0 {
				its.oneOf("its.agent_id", scope.AgentIDs)
			}
			its.equals("its.principal", scope.OwnedBy)
		})
	}
}

// exists adds a condition that a row exists. The row's own conditions form another filter, whose
// arguments continue the numbering.
func (f *filter) exists(from string, conditions func(*filter)) {
	its := filter{args: f.args}
	conditions(&its)
	f.args = its.args
	f.where = append(f.where, "EXISTS (SELECT 1 "+strings.Join(append([]string{from}, its.where...), " AND ")+")")
}

// with returns a statement that ends with a condition, plus the filter's.
func (f *filter) with(statement string) string {
	return strings.Join(slices.Concat([]string{statement}, f.where), "\n\tAND ")
}
