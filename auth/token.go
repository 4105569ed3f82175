package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// PrefixToken is the prefix of token ids.
const PrefixToken = "token"

// Token is a stored token. Its secret cannot be derived from it.
type Token struct {
	TokenID   string
	Name      string
	Role      api.Role
	Principal string
	// OnBehalfOf is the person whose token it is; "" for none.
	OnBehalfOf      string
	Groups          []string
	SessionPrefixes []string
	AgentIDs        []string
	MayActFor       bool
	MayAlways       bool
	Hint            string
	SecretHash      string
	// PreviousHash is the hash of the secret before the last rotation, which works until
	// PreviousUntilMs.
	PreviousHash    string
	PreviousUntilMs int64
	CreatedAtMs     int64
	CreatedBy       string
	ExpiresAtMs     int64 // 0: never
	RevokedAtMs     int64 // 0: not revoked
	LastUsedAtMs    int64 // 0: never
	// Key is the idempotency key of the creation, "" for none. CreatedBy and Key together are
	// unique. Fingerprint identifies the body of the call.
	Key         string
	Fingerprint string

	// signIn and asserted are set in the cache: the signed-in browser, or the assertion behind the
	// token.
	signIn   *SignIn
	asserted *assertedBy
}

// TokenQuery selects a page of tokens in the order of (created_at_ms, token_id).
type TokenQuery struct {
	// State selects tokens in that state at NowMs; "" for all.
	State api.TokenState
	NowMs int64
	// AfterMs and AfterID identify the last row of the previous page; zero for the first page.
	AfterMs int64
	AfterID string
	Limit   int
}

// Tokens stores tokens. Every engine implements it. Its errors wrap runs.ErrUnavailable or
// runs.ErrClosed, or are the context's.
type Tokens interface {
	SignIns
	Tickets
	// AddToken inserts a token and returns it. When a token with the same CreatedBy and Key exists,
	// it returns that one, even if other fields differ.
	AddToken(ctx context.Context, token *Token, entry *journal.Entry) (*Token, error)
	// TokenByKey returns the token that a principal created with a key; nil when there is none.
	TokenByKey(ctx context.Context, createdBy, key string) (*Token, error)
	// Token returns a token by its id. Errors: token_not_found.
	Token(ctx context.Context, tokenID string) (*Token, error)
	// TokenByHash returns the token whose current or previous secret has the hash, in any state;
	// nil when there is none.
	TokenByHash(ctx context.Context, hash string) (*Token, error)
	// TokensByID returns the existing tokens.
	TokensByID(ctx context.Context, tokenIDs []string) ([]Token, error)
	// ListTokens returns a page.
	ListTokens(ctx context.Context, q TokenQuery) ([]Token, error)
	// Deciders returns up to limit tokens that are active at nowMs and have a role that may [Decide]. Of the tokens of
	// a principal's [Assertion]s it returns at most the one used last, whatever role the others have, because only that one
	// has the current role and groups.
	Deciders(ctx context.Context, nowMs int64, limit int) ([]Token, error)
	// TokensOf returns up to limit tokens of a principal that are active at nowMs, the newest first.
	TokensOf(ctx context.Context, principal string, nowMs int64, limit int) ([]Token, error)
	// AnyToken reports whether a token was ever created. Tokens are never deleted.
	AnyToken(ctx context.Context) (bool, error)
	// RotateToken gives an active token a new secret. The current one works until previousUntilMs.
	// Browsers signed in with the token are signed out. It reports whether the token was active.
	RotateToken(ctx context.Context, tokenID, hash, hint string, previousUntilMs, nowMs int64, entry *journal.Entry) (bool, error)
	// RevokeToken revokes an active token. With keepAdmin it does not revoke the last active admin
	// token. It reports whether it changed the token.
	RevokeToken(ctx context.Context, tokenID string, keepAdmin bool, nowMs int64, entry *journal.Entry) (bool, error)
	// TouchToken sets when a token was last used. An earlier time is ignored.
	TouchToken(ctx context.Context, tokenID string, usedAtMs int64) error
}

// StateAt returns the token's state at a time.
func (t *Token) StateAt(nowMs int64) api.TokenState {
	switch {
	case t.RevokedAtMs != 0:
		return api.TokenRevoked
	case t.ExpiresAtMs != 0 && t.ExpiresAtMs <= nowMs:
		return api.TokenExpired
	}
	return api.TokenActive
}

// AcceptsAt reports whether a secret with that hash works at a time.
func (t *Token) AcceptsAt(hash string, nowMs int64) bool {
	if t.signIn != nil {
		return t.StateAt(nowMs) == api.TokenActive && signInKey+t.signIn.CookieHash == hash && nowMs < t.signIn.ExpiresAtMs
	}
	if t.asserted != nil {
		return t.StateAt(nowMs) == api.TokenActive && t.asserted.key == hash && nowMs < t.asserted.untilMs
	}
	return t.StateAt(nowMs) == api.TokenActive && (t.SecretHash == hash || t.PreviousHash == hash && nowMs < t.PreviousUntilMs)
}

// Turns reports whether the set of secrets that the token accepts changes after afterMs and by
// untilMs.
func (t *Token) Turns(afterMs, untilMs int64) bool {
	between := func(atMs int64) bool { return atMs > afterMs && atMs <= untilMs }
	return between(t.ExpiresAtMs) || between(t.PreviousUntilMs)
}

// Accepts reports whether the credential of an [Identity] still works at a time: the secret with
// that hash, or, with "", any sign-in or assertion of the token.
func (t *Token) Accepts(credential string, nowMs int64) bool {
	return t.StateAt(nowMs) == api.TokenActive && (credential == "" || t.AcceptsAt(credential, nowMs))
}

// Identity returns the identity of callers that use the token.
func (t *Token) Identity() *Identity {
	identity := &Identity{
		Principal: t.Principal, OnBehalfOf: t.OnBehalfOf, Role: t.Role, Groups: t.Groups, Via: ViaToken, TokenID: t.TokenID,
		SessionPrefixes: t.SessionPrefixes, AgentIDs: t.AgentIDs,
		MayActFor: t.MayActFor, MayAlways: t.MayAlways, ExpiresAtMs: t.ExpiresAtMs,
	}
	if t.asserted != nil {
		identity.Via, identity.ExpiresAtMs = t.asserted.via(), t.asserted.untilMs
	}
	if t.signIn != nil {
		identity.Via, identity.CookieHash = ViaSession, t.signIn.CookieHash
		if t.ExpiresAtMs == 0 || t.signIn.ExpiresAtMs < t.ExpiresAtMs {
			identity.ExpiresAtMs = t.signIn.ExpiresAtMs
		}
	}
	return identity
}

// View returns the token as the API shows it.
func (t *Token) View() api.TokenView {
	return api.TokenView{
		TokenID: t.TokenID, Name: t.Name, Role: t.Role, Principal: t.Principal, OnBehalfOf: t.OnBehalfOf, Groups: append([]string{}, t.Groups...),
		SessionPrefixes: append([]string{}, t.SessionPrefixes...), AgentIDs: append([]string{}, t.AgentIDs...),
		MayActFor: t.MayActFor, MayAlways: t.MayAlways, Hint: t.Hint, CreatedAtMs: t.CreatedAtMs, CreatedBy: t.CreatedBy,
		ExpiresAtMs: t.ExpiresAtMs, RevokedAtMs: t.RevokedAtMs, LastUsedAtMs: t.LastUsedAtMs,
	}
}

// newToken returns the token that a body describes, without id and secret. Errors: invalid_request
// with every fault.
func newToken(body *api.CreateTokenBody, nowMs int64) (*Token, error) {
	var faults refusal.Faults
	namable := checkTokenName(&faults, body.Name)
	if !slices.Contains(Roles, body.Role) {
		faults.Add("/role", "must be observer, agent, operator or admin")
	}
	t := &Token{
		Name: body.Name, Role: body.Role, Principal: body.Principal, OnBehalfOf: body.OnBehalfOf, Groups: body.Groups,
		SessionPrefixes: body.SessionPrefixes, AgentIDs: body.AgentIDs, MayActFor: body.MayActFor, MayAlways: body.MayAlways,
		CreatedAtMs: nowMs,
	}
	switch {
	case t.Principal != "":
		if !ValidPrincipal(t.Principal) {
			faults.Add("/principal", "must be user:, agent: or service: and a name of A-Z a-z 0-9 . _ : - @")
		}
	case validName(t.Name):
		t.Principal = "user:" + t.Name
		if t.Role == api.RoleAgent {
			t.Principal = "agent:" + t.Name
		}
	case namable:
		faults.Add("/principal", "is required when the name has characters other than A-Z a-z 0-9 . _ : - @")
	}
	t.checkPerson(&faults)
	checkTexts(&faults, "/groups", t.Groups, api.MaxTokenGroups, func(group string) string {
		if !validName(group) {
			return fmt.Sprintf("must have 1 to %d characters of A-Z a-z 0-9 . _ : - @", api.MaxIDLength)
		}
		return ""
	})
	checkBound(&faults, "/session_prefixes", t.SessionPrefixes, t.Role, api.MaxTokenPrefix)
	checkBound(&faults, "/agent_ids", t.AgentIDs, t.Role, api.MaxIDLength)
	if t.MayAlways && (t.Role == api.RoleAgent || t.Role == api.RoleObserver) {
		faults.Add("/may_always", "an %s cannot write rules", t.Role)
	}
	switch {
	case body.ExpiresAtMs != nil && body.ExpiresAfterMs != nil:
		faults.Add("/expires_after_ms", "must not be given together with expires_at_ms")
	case body.ExpiresAtMs != nil && *body.ExpiresAtMs <= nowMs:
		faults.Add("/expires_at_ms", "must be in the future")
	case body.ExpiresAtMs != nil && *body.ExpiresAtMs > api.MaxTimeMs:
		faults.Add("/expires_at_ms", "must be at most %d", int64(api.MaxTimeMs))
	case body.ExpiresAtMs != nil:
		t.ExpiresAtMs = *body.ExpiresAtMs
	case body.ExpiresAfterMs != nil && (*body.ExpiresAfterMs <= 0 || *body.ExpiresAfterMs > api.MaxTimeMs-nowMs):
		faults.Add("/expires_after_ms", "must be between 1 and %d", api.MaxTimeMs-nowMs)
	case body.ExpiresAfterMs != nil:
		t.ExpiresAtMs = nowMs + *body.ExpiresAfterMs
	}
	return t, faults.Err()
}

// checkPerson adds the faults of OnBehalfOf.
func (t *Token) checkPerson(faults *refusal.Faults) {
	switch {
	case t.OnBehalfOf == "":
	case !ValidPrincipal(t.OnBehalfOf) || !strings.HasPrefix(t.OnBehalfOf, "user:"):
		faults.Add("/on_behalf_of", "must be user: and a name of A-Z a-z 0-9 . _ : - @")
	case t.OnBehalfOf == t.Principal:
		faults.Add("/on_behalf_of", "must be another principal than the token's own")
	case t.MayActFor:
		faults.Add("/on_behalf_of", "must not be given together with may_act_for, which names a person with each call")
	}
}

// checkTokenName adds the faults of a name, which tables show in one line, and reports whether it
// is valid.
func checkTokenName(faults *refusal.Faults, name string) bool {
	before := len(faults.List)
	faults.RequiredText("/name", name, api.MaxNameLength)
	if len(faults.List) == before && strings.ContainsAny(name, "\t\r\n") {
		faults.Add("/name", "must not hold control characters")
	}
	return len(faults.List) == before
}

// checkBound adds the faults of a token's session prefixes or agent ids.
func checkBound(faults *refusal.Faults, pointer string, list []string, role api.Role, limit int) {
	switch {
	case list == nil:
	case len(list) == 0:
		faults.Add(pointer, "must not be empty: omit it for no limit")
	case role == api.RoleAdmin:
		faults.Add(pointer, "an admin cannot be limited")
	default:
		checkTexts(faults, pointer, list, api.MaxTokenScopes, func(text string) string {
			if !refusal.ValidID(text) || len(text) > limit {
				return fmt.Sprintf("must have 1 to %d characters of A-Z a-z 0-9 . _ : - and not be . or ..", limit)
			}
			return ""
		})
	}
}

func checkTexts(faults *refusal.Faults, pointer string, list []string, limit int, check func(string) string) {
	if len(list) > limit {
		faults.Add(pointer, "must have at most %d items", limit)
		return
	}
	for i, text := range list {
		if fault := check(text); fault != "" {
			faults.Add(fmt.Sprintf("%s/%d", pointer, i), "%s", fault)
		}
	}
}

// fingerprint identifies the body of a call that creates a token.
func fingerprint(body *api.CreateTokenBody) string {
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return "" // JSON encoding fails only for invalid UTF-8, which decoding refuses
	}
	return HashOf(string(text))
}
