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

// ChangeBy is EntryBy for a change that needs the authority of the identity. The keyring may accept a
// credential that another replica has just revoked, so the store checks it with the change.
func ChangeBy(identity *Identity, nowMs int64, event api.AuditEvent) *journal.Entry {
	entry := EntryBy(identity, nowMs, event)
	if identity != nil && identity.TokenID != "" {
		entry.Caller = &journal.Caller{TokenID: identity.TokenID, SecretHash: identity.Credential, CookieHash: identity.CookieHash}
	}
	return entry
}

// created returns the audit entry for a new token. With a nil identity, the actor is the token's
// issuer or certificate check.
func (t *Token) created(by *Identity) *journal.Entry {
	event := api.AuditEvent{
		Type: api.AuditTokenCreated, TokenID: t.TokenID, Name: t.Name, Role: t.Role, Principal: t.Principal, OnBehalfOf: t.OnBehalfOf, Groups: t.Groups,
		SessionPrefixes: t.SessionPrefixes, AgentIDs: t.AgentIDs, MayActFor: t.MayActFor, MayAlways: t.MayAlways, ExpiresAtMs: t.ExpiresAtMs,
	}
	entry := ChangeBy(by, t.CreatedAtMs, event)
	if by == nil {
		entry.Actor = t.CreatedBy
	}
	return entry
}
