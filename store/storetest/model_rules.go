package storetest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Rules returns all rules and their counts, ordered by (created_at_ms, rule_id).
func (m *Model) Rules() []rules.Record {
	hits := map[string]int64{}
	for _, request := range m.requests {
		if request.RuleID != "" {
			hits[request.RuleID]++
		}
	}
	list := make([]rules.Record, 0, len(m.rules))
	for ruleID, rule := range m.rules {
		list = append(list, rules.Record{Rule: *rule, Hits: hits[ruleID]})
	}
	slices.SortFunc(list, func(a, b rules.Record) int {
		return cmp.Or(cmp.Compare(a.Rule.CreatedAtMs, b.Rule.CreatedAtMs), strings.Compare(a.Rule.RuleID, b.Rule.RuleID))
	})
	return list
}

// RulesFor returns the rules in force in a session, in the same order.
func (m *Model) RulesFor(sessionID string) []rules.Rule {
	var list []rules.Rule
	for _, record := range m.Rules() {
		rule := record.Rule
		if rule.RevokedAtMs == 0 && (rule.SessionID == sessionID || rule.SessionID == rules.AllSessions) {
			list = append(list, rule)
		}
	}
	return list
}

// ruleSet returns the rules of a session, or of all, that are not about one exact input.
func (m *Model) ruleSet(sessionID string) *rules.Set {
	var list []*rules.Rule
	for _, rule := range m.rules {
		if rule.RevokedAtMs == 0 && rule.SessionID == sessionID && !rule.Exact() {
			list = append(list, rule)
		}
	}
	return rules.NewSet(list, true)
}

// Handles returns the handles of all requests, sorted.
func (m *Model) Handles() []string {
	var handles []string
	for _, request := range m.requests {
		handles = append(handles, request.Handle)
	}
	slices.Sort(handles)
	return handles
}

// RequestByHandle returns a request as a read of it must show it, or nil.
func (m *Model) RequestByHandle(handle string) *model.PendingRequest {
	for _, request := range m.requests {
		if request.Handle == handle {
			run := m.runs[request.RunID]
			session := m.sessions[run.SessionID]
			return &model.PendingRequest{
				Request: *request, AgentID: run.AgentID, RunKind: run.Kind, Requester: run.Requester, About: session.About, ParentSessionID: session.ParentSessionID,
			}
		}
	}
	return nil
}

// SessionHead returns a session's row, or nil.
func (m *Model) SessionHead(sessionID string) *model.Session { return m.sessions[sessionID] }

// Rule returns a rule as it is, or nil.
func (m *Model) Rule(ruleID string) *rules.Rule { return m.rules[ruleID] }
