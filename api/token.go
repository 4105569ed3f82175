package api

// Role is the role of a credential. Package auth holds the table of permissions.
type Role string

// Roles, from least to most privileged.
const (
	RoleObserver Role = "observer"
	RoleAgent    Role = "agent"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

// TokenState is the state of a token.
type TokenState string

// States of tokens. A revoked token stays revoked after its expiry.
const (
	TokenActive  TokenState = "active"
	TokenExpired TokenState = "expired"
	TokenRevoked TokenState = "revoked"
)

// TokenView is a token on the wire, without its secret.
type TokenView struct {
	TokenID string `json:"token_id"`
	Name    string `json:"name"`
	Role    Role   `json:"role"`
	// Principal is the principal of the token: "user:…", "agent:…" or "service:…".
	Principal string `json:"principal"`
	// OnBehalfOf is the person whose token it is; empty for none.
	OnBehalfOf string   `json:"on_behalf_of,omitempty" body:"filled"`
	Groups     []string `json:"groups"`
	// SessionPrefixes and AgentIDs limit which sessions and agents the token reaches. Empty means
	// no limit.
	SessionPrefixes []string `json:"session_prefixes"`
	AgentIDs        []string `json:"agent_ids"`
	// MayActFor makes X-Actor count. MayAlways lets an operator write rules for all sessions.
	MayActFor bool `json:"may_act_for"`
	MayAlways bool `json:"may_always"`
	// Hint is the first characters of the secret's random part.
	Hint        string `json:"hint"`
	CreatedAtMs int64  `json:"created_at_ms"`
	CreatedBy   string `json:"created_by"`
	ExpiresAtMs int64  `json:"expires_at_ms,omitzero"` // 0: never
	RevokedAtMs int64  `json:"revoked_at_ms,omitzero"` // 0: not revoked
	// LastUsedAtMs is the minute of the last use, or CreatedAtMs if that is later; 0: never. Uses at
	// another replica appear within two seconds.
	LastUsedAtMs int64 `json:"last_used_at_ms,omitzero"`
}

// CreateTokenBody describes a new token.
type CreateTokenBody struct {
	_    struct{} `body:"closed"` // a misspelt limit must not mean no limit
	Name string   `json:"name" body:"required"`
	Role Role     `json:"role" body:"required"`
	// Principal is "agent:" or "user:" and the name when it is empty.
	Principal string `json:"principal,omitempty" body:"filled"`
	// OnBehalfOf is the person whose token it is, "user:" and a name. Decisions name both, and with
	// exclude_requester neither may allow what the other requested.
	OnBehalfOf string   `json:"on_behalf_of,omitempty" body:"filled"`
	Groups     []string `json:"groups,omitempty"`
	// SessionPrefixes and AgentIDs limit which sessions and agents the token reaches; nil means no
	// limit. An empty list is refused, and so is either of them for an admin.
	SessionPrefixes []string `json:"session_prefixes,omitzero"`
	AgentIDs        []string `json:"agent_ids,omitzero"`
	// At most one of ExpiresAtMs and ExpiresAfterMs is given. Without either, the token does not
	// expire.
	ExpiresAtMs    *int64 `json:"expires_at_ms,omitzero"`
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitzero"`
	MayActFor      bool   `json:"may_act_for,omitzero"`
	MayAlways      bool   `json:"may_always,omitzero"`
}

// RotateTokenBody requests a new secret. The old one stays valid for GraceMs, 0 to MaxTokenGraceMs.
type RotateTokenBody struct {
	_       struct{} `body:"closed"`
	GraceMs int64    `json:"grace_ms,omitzero"`
}

// TokenSecret is the reply that contains a secret, once. A replayed creation has SecretShown
// instead.
type TokenSecret struct {
	Token       TokenView `json:"token"`
	Secret      string    `json:"secret,omitempty"`
	SecretShown bool      `json:"secret_shown,omitzero"`
}

// TokenList is one page of tokens.
type TokenList struct {
	Data       []TokenView `json:"data"`
	NextCursor *string     `json:"next_cursor"` // nil on the last page
}

// Me is the caller as the service sees it.
type Me struct {
	Principal string `json:"principal"`
	// OnBehalfOf is the person whose token it is; empty for none.
	OnBehalfOf string   `json:"on_behalf_of,omitempty"`
	Role       Role     `json:"role"`
	Groups     []string `json:"groups"`
	// Via is "token", "session" for a signed-in browser, "oidc" for an ID token, "certificate" for a
	// client certificate, or "open" when the service requires no credential.
	Via             string   `json:"via"`
	TokenID         string   `json:"token_id,omitempty"`
	SessionPrefixes []string `json:"session_prefixes,omitempty"`
	AgentIDs        []string `json:"agent_ids,omitempty"`
	ExpiresAtMs     int64    `json:"expires_at_ms,omitzero"`
}

// SignIn is the reply when a browser signs in.
type SignIn struct {
	Me
	// Session is the credential for a page on a loopback address (Authorization: Session), where a
	// cookie would be sent to every port. On other addresses it is empty, and the reply sets a
	// cookie.
	Session string `json:"session,omitempty"`
}

// Limits of tokens.
const (
	// MaxTokenGraceMs is the longest time an old secret stays valid after a rotation.
	MaxTokenGraceMs = 604_800_000
	// MaxTokenGroups limits a token's groups; MaxTokenScopes limits its session prefixes and its
	// agent ids, each.
	MaxTokenGroups = 100
	MaxTokenScopes = 100
	// MaxTokenPrefix is the maximum length of a session prefix. A generated id fits after it.
	MaxTokenPrefix = 100
	// DefaultTokenPage is the page size of GET /v1/tokens without a limit. MaxPageLimit is the
	// maximum.
	DefaultTokenPage = 50
)

// CreateStreamTicketBody requests a ticket.
type CreateStreamTicketBody struct {
	// Path is the stream's path with the query members that identify a resource.
	Path string `json:"path" body:"required"`
}

// StreamTicket opens one stream once, with ?ticket=.
type StreamTicket struct {
	Ticket      string `json:"ticket"`
	ExpiresAtMs int64  `json:"expires_at_ms"`
}

// MaxTicketPath is the maximum length of a ticket's path, in bytes.
const MaxTicketPath = 4096

// Issuer is the identity provider where people without a token sign in. Without one its members are
// empty.
type Issuer struct {
	// Name is the host of the issuer.
	Name string `json:"name,omitempty"`
	// StartPath is the path where the sign-in starts, with return_to in its query.
	StartPath string `json:"start_path,omitempty"`
}
