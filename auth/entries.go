package auth

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
)

// EntryBy returns a line of the audit's own log about something that an identity did, or the service
// itself when it is nil.
func EntryBy(identity *Identity, nowMs int64, event api.AuditEvent) *journal.Entry {
	if identity == nil {
		return journal.New(nowMs, api.ResolvedBySystem, event)
	}
	event.Via, event.ByTokenID = identity.Via, identity.TokenID
	return journal.New(nowMs, identity.Principal, event)
}

// created returns the line about a token that is made: by an identity, or, where it is nil, by
// whatever vouches for whom it stands.
func (t *Token) created(by *Identity) *journal.Entry {
	event := api.AuditEvent{Type: api.AuditTokenCreated, TokenID: t.TokenID, Name: t.Name, Role: t.Role, Principal: t.Principal}
	entry := EntryBy(by, t.CreatedAtMs, event)
	if by == nil {
		entry.Actor = t.CreatedBy
	}
	return entry
}
