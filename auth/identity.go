package auth

import (
	"context"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Values of Identity.Via.
const (
	ViaToken = "token"
	// ViaSession is a signed-in browser.
	ViaSession = "session"
	// ViaIssuer is an ID token, ViaCertificate a client certificate.
	ViaIssuer      = "oidc"
	ViaCertificate = "certificate"
	// ViaLink is a person who typed the code of a message into the page of its link.
	ViaLink = "link"
	// ViaOpen is every call while the service requires no credential.
	ViaOpen = "open"
)

// LocalPrincipal is the caller while the service requires no credential.
const LocalPrincipal = "user:local"

// Identity is an authenticated caller.
type Identity struct {
	Principal string
	// OnBehalfOf is the person whose token it is, who is recorded with decisions; "" for none. The
	// token's rights are only its own.
	OnBehalfOf string
	Role       api.Role
	Groups     []string
	Via        string
	TokenID    string // "" when Via is ViaOpen
	// Credential is the hash of the caller's secret; "" when Via is not ViaToken.
	Credential string
	// CookieHash is the hash of the browser's cookie; "" when Via is not ViaSession.
	CookieHash string
	// SessionPrefixes and AgentIDs limit which sessions and agents the identity reaches. Empty
	// means no limit.
	SessionPrefixes []string
	AgentIDs        []string
	// MayActFor records the name in X-Actor as the person who decided.
	MayActFor   bool
	MayAlways   bool
	ExpiresAtMs int64 // 0: never

	// cacheKey is the credential's key in the keyring's cache; "" when Via is ViaOpen.
	cacheKey string
}

// Local returns the identity of every call while the service requires no credential: it may do
// everything, and X-Actor counts.
func Local() *Identity {
	return &Identity{Principal: LocalPrincipal, Role: api.RoleAdmin, Via: ViaOpen, MayActFor: true}
}

// May reports whether the identity may do something. An operator may write rules for all sessions
// only with a token that allows it and is not limited to sessions or agents.
func (i *Identity) May(action Action) bool {
	if action == WriteRuleForAll && i.Role != api.RoleAdmin && (!i.MayAlways || len(i.SessionPrefixes)+len(i.AgentIDs) > 0) {
		return false
	}
	return RoleMay(i.Role, action)
}

// Check returns forbidden, which names the roles that are allowed, or nil.
func (i *Identity) Check(action Action) error {
	switch {
	case i.May(action):
		return nil
	case action == WriteRuleForAll && RoleMay(i.Role, action):
		return refusal.New(api.CodeForbidden, "the role %s may not write or revoke rules of all sessions with this token: "+
			"it needs the role admin, or a token with may_always that is not limited to sessions or agents", i.Role)
	}
	return refusal.New(api.CodeForbidden, "the role %s may not do this (%s): it needs the role %s", i.Role, action, RolesFor(action))
}

// Me returns the identity as the API shows it to the caller.
func (i *Identity) Me() api.Me {
	return api.Me{
		Principal: i.Principal, OnBehalfOf: i.OnBehalfOf, Role: i.Role, Groups: append([]string{}, i.Groups...), Via: i.Via, TokenID: i.TokenID,
		SessionPrefixes: i.SessionPrefixes, AgentIDs: i.AgentIDs, ExpiresAtMs: i.ExpiresAtMs,
	}
}

// CommandLine returns the identity of an operator with direct access to the database.
func CommandLine() *Identity {
	return &Identity{Principal: "service:command-line", Role: api.RoleAdmin, Via: api.ViaDatabase}
}

// ValidPrincipal reports whether a text names a principal: user:, agent: or service: and a name
// of 1 to 200 characters of A-Z a-z 0-9 . _ : - @.
func ValidPrincipal(text string) bool {
	kind, name, found := strings.Cut(text, ":")
	return found && (kind == "user" || kind == "agent" || kind == "service") && validName(name)
}

// validName reports whether a name has only characters of ids and "@".
func validName(name string) bool {
	return name != "" && len(name) <= api.MaxIDLength && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '@' && !refusal.ValidID("_"+string(r))
	})
}

type identityKey struct{}

// With returns a context that carries the identity.
func With(ctx context.Context, identity *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, identity)
}

// From returns the context's identity, or nil.
func From(ctx context.Context) *Identity {
	identity, _ := ctx.Value(identityKey{}).(*Identity)
	return identity
}
