package committer

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// loadsOf puts together what the calls need, a load a session, in the order of the
// session ids.
func loadsOf(calls []*call) []Load {
	loads := make([]Load, 0, len(calls))
	index := make(map[string]int, len(calls))
	for _, one := range calls {
		at, seen := index[one.sessionID]
		if !seen {
			at = len(loads)
			index[one.sessionID] = at
			loads = append(loads, Load{SessionID: one.sessionID})
		}
		loads[at].add(one.needs)
	}
	slices.SortFunc(loads, func(a, b Load) int { return cmp.Compare(a.SessionID, b.SessionID) })
	return loads
}

func (l *Load) add(needs runs.Needs) {
	l.Commands++
	l.UnfinishedRuns = l.UnfinishedRuns || needs.UnfinishedRuns
	l.Clarifications = l.Clarifications || needs.Clarifications
	l.Mailbox = l.Mailbox || needs.Mailbox
	l.DeadLetters = l.DeadLetters || needs.DeadLetters
	l.Rules = l.Rules || needs.Rules
	l.SessionRules = l.SessionRules || needs.SessionRules
	l.ChangesRules = l.ChangesRules || needs.ChangesRules
	for _, digest := range needs.RuleDigests {
		l.RuleDigests = include(l.RuleDigests, digest)
	}
	if refusal.ValidID(needs.RuleID) {
		l.RuleIDs = include(l.RuleIDs, needs.RuleID)
	}
	if refusal.ValidID(needs.MessageID) {
		l.MessageIDs = include(l.MessageIDs, needs.MessageID)
	}
	if refusal.ValidID(needs.EffectID) {
		l.EffectIDs = include(l.EffectIDs, needs.EffectID)
	}
	if needs.ChosenRunID != "" {
		l.ChosenRunIDs = include(l.ChosenRunIDs, needs.ChosenRunID)
	}
	for _, requestID := range needs.SessionRequestIDs {
		l.SessionRequestIDs = include(l.SessionRequestIDs, requestID)
	}
	if record := needs.Record; record != nil {
		key := *record
		key.Scope = cmp.Or(key.Scope, l.SessionID)
		l.Records = include(l.Records, key)
	}
	// A run id that no run can have is not looked for.
	if !refusal.ValidID(needs.RunID) {
		return
	}
	l.RunIDs = include(l.RunIDs, needs.RunID)
	for _, requestID := range needs.RequestIDs {
		l.Requests = include(l.Requests, runs.RequestKey{RunID: needs.RunID, RequestID: requestID})
	}
	if needs.SuspensionID != "" {
		l.Suspensions = include(l.Suspensions, SuspensionKey{RunID: needs.RunID, SuspensionID: needs.SuspensionID})
	}
	if needs.Payload {
		l.PayloadRunIDs = include(l.PayloadRunIDs, needs.RunID)
	}
	if needs.RunMessages {
		l.MessageRunIDs = include(l.MessageRunIDs, needs.RunID)
	}
}

func include[T comparable](list []T, item T) []T {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}
