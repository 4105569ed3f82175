package committer

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// loadsOf groups what the calls need by session, in the order of the session ids. With claims,
// runs that may become claimable are loaded so that they can be claimed at once.
func loadsOf(calls []*call, claims bool) []Load {
	loads := make([]Load, 0, len(calls))
	index := make(map[string]int, len(calls))
	for _, c := range calls {
		at, seen := index[c.sessionID]
		if !seen {
			at = len(loads)
			index[c.sessionID] = at
			loads = append(loads, Load{SessionID: c.sessionID})
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

// Add adds what one more command needs. It leaves out ids that no row can have, which a
// database might refuse, and gives a record without a scope that of the session.
func (l *Load) Add(needs runs.Needs) {
	for _, id := range []*string{&needs.RunID, &needs.RuleID, &needs.MessageID, &needs.EffectID} {
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
