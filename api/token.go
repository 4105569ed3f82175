package api

// Role is what a credential may do; package auth holds the table.
type Role string

// The roles, from the weakest.
const (
	RoleObserver Role = "observer"
	RoleAgent    Role = "agent"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

// TokenState tells the tokens that work from those that do not.
type TokenState string

// The states of tokens. A token that is revoked is not expired, too.
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
	// Principal is who calls with the token: "user:…", "agent:…" or "service:…".
	Principal string   `json:"principal"`
	Groups    []string `json:"groups"`
	// SessionPrefixes and AgentIDs bound what the token reaches; empty for no bound.
	SessionPrefixes []string `json:"session_prefixes"`
	AgentIDs        []string `json:"agent_ids"`
	// MayActFor has X-Actor honoured, MayAlways lets an operator write rules of all sessions.
	MayActFor bool `json:"may_act_for"`
	MayAlways bool `json:"may_always"`
	// Hint is the first characters of the secret's random part.
	Hint        string `json:"hint"`
	CreatedAtMs int64  `json:"created_at_ms"`
	CreatedBy   string `json:"created_by"`
	ExpiresAtMs int64  `json:"expires_at_ms,omitzero"` // 0: never
	RevokedAtMs int64  `json:"revoked_at_ms,omitzero"` // 0: not revoked
	// LastUsedAtMs is to the minute; 0: never.
	LastUsedAtMs int64 `json:"last_used_at_ms,omitzero"`
}

// CreateTokenBody describes a token.
type CreateTokenBody struct {
	_    struct{} `body:"closed"` // a bound that is misspelt must not be no bound
	Name string   `json:"name" body:"required"`
	Role Role     `json:"role" body:"required"`
	// Principal is "agent:" or "user:" and the name when it is empty.
	Principal string   `json:"principal,omitempty"`
	Groups    []string `json:"groups,omitempty"`
	// SessionPrefixes and AgentIDs bound what the token reaches; nil for no bound. An empty
	// list is refused, and so is either of them for an admin.
	SessionPrefixes []string `json:"session_prefixes,omitzero"`
	AgentIDs        []string `json:"agent_ids,omitzero"`
	// At most one of the next two is given; without either the token does not expire.
	ExpiresAtMs    *int64 `json:"expires_at_ms,omitzero"`
	ExpiresAfterMs *int64 `json:"expires_after_ms,omitzero"`
	MayActFor      bool   `json:"may_act_for,omitzero"`
	MayAlways      bool   `json:"may_always,omitzero"`
}

// RotateTokenBody asks for a new secret. The old one works for GraceMs more, 0 to
// MaxTokenGraceMs.
type RotateTokenBody struct {
	_       struct{} `body:"closed"`
	GraceMs int64    `json:"grace_ms,omitzero"`
}

// TokenSecret is the reply that shows a secret, once. A replay of a creation has
// SecretShown instead.
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

// Me is who makes the call, as the service sees it.
type Me struct {
	Principal string   `json:"principal"`
	Role      Role     `json:"role"`
	Groups    []string `json:"groups"`
	// Via is "token", "session" for a browser that is signed in, or "open" where the service asks
	// for no credential.
	Via             string   `json:"via"`
	TokenID         string   `json:"token_id,omitempty"`
	SessionPrefixes []string `json:"session_prefixes,omitempty"`
	AgentIDs        []string `json:"agent_ids,omitempty"`
	ExpiresAtMs     int64    `json:"expires_at_ms,omitzero"`
}

// SignIn is the reply to a browser that signs in.
type SignIn struct {
	Me
	// Session is what a page on a loopback address calls with (Authorization: Session), where a cookie would go
	// to every port. Elsewhere it is empty, and the reply sets a cookie.
	Session string `json:"session,omitempty"`
}

// Limits of tokens.
const (
	// MaxTokenGraceMs bounds how long an old secret works beside its successor.
	MaxTokenGraceMs = 604_800_000
	// MaxTokenGroups and MaxTokenScopes bound the groups of a token, and its session prefixes
	// and agent ids, each.
	MaxTokenGroups = 100
	MaxTokenScopes = 100
	// MaxTokenPrefix is the longest session prefix: an id that the service makes fits behind it.
	MaxTokenPrefix = 100
	// DefaultTokenPage is the page of GET /v1/tokens without a limit; MaxPageLimit bounds it.
	DefaultTokenPage = 50
)

// CreateStreamTicketBody asks for a ticket.
type CreateStreamTicketBody struct {
	// Path is that of a stream, with the members of its query that name a thing.
	Path string `json:"path" body:"required"`
}

// StreamTicket opens one stream once, as the query's ticket.
type StreamTicket struct {
	Ticket      string `json:"ticket"`
	ExpiresAtMs int64  `json:"expires_at_ms"`
}

// MaxTicketPath bounds the path of a ticket, in bytes.
const MaxTicketPath = 4096

// Issuer is where people sign in who have no token; without one its members are empty.
type Issuer struct {
	// Name is the host of the issuer.
	Name string `json:"name,omitempty"`
	// StartPath is where a browser begins, with return_to in its query.
	StartPath string `json:"start_path,omitempty"`
}
