package door

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// loadsOf groups the needs of calls by session, sorted by session id. With claims, it also loads
// what is needed to claim a run that may become claimable.
func loadsOf(calls []*call, claims bool) []Load {
	loads := make([]Load, 0, len(calls))
	index := make(map[string]int, len(calls))
	for _, c := range calls {
		at, seen := index[c.Key]
		if !seen {
			at = len(loads)
			index[c.Key] = at
			loads = append(loads, Load{SessionID: c.Key})
		}
		needs := c.needs
		if claims && needs.MayResume {
			needs.Payload, needs.RunMessages = true, true
		}
		loads[at].Add(needs)
	}
	slices.SortFunc(loads, func(a, b Load) int { return cmp.Compare(a.SessionID, b.SessionID) })
	return loads
}

// Add adds the needs of one command. It clears ids that cannot exist, which a database might
// refuse. A record without a scope gets the session as its scope.
func (l *Load) Add(needs runs.Needs) {
	for _, id := range []*string{&needs.RunID, &needs.RuleID, &needs.MessageID, &needs.EffectID, &needs.AdvanceID} {
		if !refusal.ValidID(*id) {
			*id = ""
		}
	}
	if needs.Record != nil {
		key := *needs.Record
		key.Scope = cmp.Or(key.Scope, l.SessionID)
		needs.Record = &key
	}
	l.Needs = append(l.Needs, needs)
}
