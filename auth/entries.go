package auth

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
)

// EntryBy returns an audit entry for a change by an identity, or by the service itself when the
// identity is nil.
func EntryBy(identity *Identity, nowMs int64, event api.AuditEvent) *journal.Entry {
	if identity == nil {
		return journal.New(nowMs, api.ResolvedBySystem, event)
	}
	event.Via, event.ByTokenID = identity.Via, identity.TokenID
	return journal.New(nowMs, identity.Principal, event)
}

// created returns the audit entry for a new token. With a nil identity, the actor is the token's
// issuer or certificate check.
func (t *Token) created(by *Identity) *journal.Entry {
	event := api.AuditEvent{Type: api.AuditTokenCreated, TokenID: t.TokenID, Name: t.Name, Role: t.Role, Principal: t.Principal, OnBehalfOf: t.OnBehalfOf}
	entry := EntryBy(by, t.CreatedAtMs, event)
	if by == nil {
		entry.Actor = t.CreatedBy
	}
	return entry
}
