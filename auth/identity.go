package auth

import (
	"context"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// The ways by which an identity was shown.
const (
	ViaToken = "token"
	// ViaSession is that of a browser that is signed in.
	ViaSession = "session"
	// ViaIssuer is that of an ID token, ViaCertificate that of a client's certificate.
	ViaIssuer      = "oidc"
	ViaCertificate = "certificate"
	// ViaOpen is that of every call where the service asks for no credential.
	ViaOpen = "open"
)

// LocalPrincipal is who calls where the service asks for no credential.
const LocalPrincipal = "user:local"

// Identity is who makes a call, proven by its credential.
type Identity struct {
	Principal string
	Role      api.Role
	Groups    []string
	Via       string
	TokenID   string // "" when Via is ViaOpen
	// Credential is the hash of the secret that was shown, "" when Via is not ViaToken.
	Credential string
	// SessionPrefixes and AgentIDs bound what the identity reaches; empty for no bound.
	SessionPrefixes []string
	AgentIDs        []string
	// MayActFor has the name in X-Actor recorded as who decided.
	MayActFor   bool
	MayAlways   bool
	ExpiresAtMs int64 // 0: never

	// remembered is by what a keyring remembers the credential, "" when Via is ViaOpen.
	remembered string
}

// Local returns the identity of every call where the service asks for no credential: it may do
// everything, and the name in X-Actor counts.
func Local() *Identity {
	return &Identity{Principal: LocalPrincipal, Role: api.RoleAdmin, Via: ViaOpen, MayActFor: true}
}

// May reports whether the identity may do something. An operator writes a rule of all sessions
// only with a token that says so and is bound to no sessions or agents.
func (i *Identity) May(action Action) bool {
	if action == WriteRuleForAll && i.Role != api.RoleAdmin && (!i.MayAlways || len(i.SessionPrefixes)+len(i.AgentIDs) > 0) {
		return false
	}
	return RoleMay(i.Role, action)
}

// Check returns forbidden, which names the roles that would do, or nil.
func (i *Identity) Check(action Action) error {
	switch {
	case i.May(action):
		return nil
	case action == WriteRuleForAll && RoleMay(i.Role, action):
		return refusal.New(api.CodeForbidden, "the role %s may not write or revoke rules of all sessions with this token: "+
			"it takes the role admin, or a token with may_always that is not bound to sessions or agents", i.Role)
	}
	return refusal.New(api.CodeForbidden, "the role %s may not do this (%s): it takes the role %s", i.Role, action, RolesFor(action))
}

// Me returns the identity as it is shown to itself.
func (i *Identity) Me() api.Me {
	return api.Me{
		Principal: i.Principal, Role: i.Role, Groups: append([]string{}, i.Groups...), Via: i.Via, TokenID: i.TokenID,
		SessionPrefixes: i.SessionPrefixes, AgentIDs: i.AgentIDs, ExpiresAtMs: i.ExpiresAtMs,
	}
}

// CommandLine returns the identity of somebody who has the database itself.
func CommandLine() *Identity {
	return &Identity{Principal: "service:command-line", Role: api.RoleAdmin, Via: api.ViaDatabase}
}

// ValidPrincipal reports whether a text names a principal: user:, agent: or service: and a name
// of 1 to 200 characters of A-Z a-z 0-9 . _ : - @.
func ValidPrincipal(text string) bool {
	kind, name, found := strings.Cut(text, ":")
	return found && (kind == "user" || kind == "agent" || kind == "service") && validName(name)
}

// validName reports whether a text is of the alphabet of ids and "@".
func validName(name string) bool {
	return name != "" && len(name) <= api.MaxIDLength && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '@' && !refusal.ValidID("_"+string(r))
	})
}

type identityKey struct{}

// With returns a context that carries an identity.
func With(ctx context.Context, identity *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, identity)
}

// From returns the identity that a context carries, nil when there is none.
func From(ctx context.Context) *Identity {
	identity, _ := ctx.Value(identityKey{}).(*Identity)
	return identity
}
