package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// PrefixToken begins the ids of tokens.
const PrefixToken = "token"

// Token is a token as it is kept. Nobody can make its secret from it.
type Token struct {
	TokenID         string
	Name            string
	Role            api.Role
	Principal       string
	Groups          []string
	SessionPrefixes []string
	AgentIDs        []string
	MayActFor       bool
	MayAlways       bool
	Hint            string
	SecretHash      string
	// PreviousHash is that of the secret before the last rotation, which works until
	// PreviousUntilMs.
	PreviousHash    string
	PreviousUntilMs int64
	CreatedAtMs     int64
	CreatedBy       string
	ExpiresAtMs     int64 // 0: never
	RevokedAtMs     int64 // 0: not revoked
	LastUsedAtMs    int64 // 0: never
	// Key is the idempotency key that it was made with, "" for none; CreatedBy and Key are
	// given to one token. Fingerprint is that of the call.
	Key         string
	Fingerprint string

	// signIn is the browser that is signed in with the token, and asserted the assertion that it
	// stands for, where it is remembered for that.
	signIn   *SignIn
	asserted *assertedBy
}

// TokenQuery asks for a page of tokens in the order of (created_at_ms, token_id).
type TokenQuery struct {
	// State selects those that are in it at NowMs; "" for all.
	State api.TokenState
	NowMs int64
	// AfterMs and AfterID are the last row seen; zero for the beginning.
	AfterMs int64
	AfterID string
	Limit   int
}

// Tokens keeps tokens. Every engine implements it. Its errors wrap runs.ErrUnavailable or
// runs.ErrClosed, or are the context's.
type Tokens interface {
	SignIns
	Tickets
	// AddToken writes a new token and returns it. A token of the same CreatedBy and Key is
	// returned instead, whatever else it says.
	AddToken(ctx context.Context, token *Token, entry *journal.Entry) (*Token, error)
	// Token returns a token by its id. Errors: token_not_found.
	Token(ctx context.Context, tokenID string) (*Token, error)
	// TokenByHash returns the token whose secret has the hash, the present or the previous one,
	// whatever its state; nil when there is none.
	TokenByHash(ctx context.Context, hash string) (*Token, error)
	// TokensByID returns those of the tokens that are there.
	TokensByID(ctx context.Context, tokenIDs []string) ([]Token, error)
	// ListTokens returns a page.
	ListTokens(ctx context.Context, q TokenQuery) ([]Token, error)
	// AnyToken reports whether a token was ever made: none is ever deleted.
	AnyToken(ctx context.Context) (bool, error)
	// RotateToken gives an active token another secret; the one that it has works until
	// previousUntilMs. The browsers that are signed in with it are signed out. It reports whether
	// the token was active.
	RotateToken(ctx context.Context, tokenID, hash, hint string, previousUntilMs, nowMs int64, entry *journal.Entry) (bool, error)
	// RevokeToken ends a token that is not revoked. With keepAdmin it leaves the last active
	// token of role admin alone. It reports whether it changed the token.
	RevokeToken(ctx context.Context, tokenID string, keepAdmin bool, nowMs int64, entry *journal.Entry) (bool, error)
	// TouchToken writes when a token was last used, never an earlier time.
	TouchToken(ctx context.Context, tokenID string, usedAtMs int64) error
}

// StateAt returns the state of the token at a moment.
func (t *Token) StateAt(nowMs int64) api.TokenState {
	switch {
	case t.RevokedAtMs != 0:
		return api.TokenRevoked
	case t.ExpiresAtMs != 0 && t.ExpiresAtMs <= nowMs:
		return api.TokenExpired
	}
	return api.TokenActive
}

// AcceptsAt reports whether a secret with that hash works at a moment.
func (t *Token) AcceptsAt(hash string, nowMs int64) bool {
	if t.signIn != nil {
		return t.StateAt(nowMs) == api.TokenActive && signInKey+t.signIn.CookieHash == hash && nowMs < t.signIn.ExpiresAtMs
	}
	if t.asserted != nil {
		return t.StateAt(nowMs) == api.TokenActive && t.asserted.key == hash && nowMs < t.asserted.untilMs
	}
	return t.StateAt(nowMs) == api.TokenActive && (t.SecretHash == hash || t.PreviousHash == hash && nowMs < t.PreviousUntilMs)
}

// Turns reports whether what the token accepts is another after a moment and no later than another.
func (t *Token) Turns(afterMs, untilMs int64) bool {
	between := func(atMs int64) bool { return atMs > afterMs && atMs <= untilMs }
	return between(t.ExpiresAtMs) || between(t.PreviousUntilMs)
}

// Accepts reports whether what an [Identity] was proven with still works at a moment: the secret with
// the hash, or with "" whatever was made with the token.
func (t *Token) Accepts(credential string, nowMs int64) bool {
	return t.StateAt(nowMs) == api.TokenActive && (credential == "" || t.AcceptsAt(credential, nowMs))
}

// Identity returns who calls with the token.
func (t *Token) Identity() *Identity {
	identity := &Identity{
		Principal: t.Principal, Role: t.Role, Groups: t.Groups, Via: ViaToken, TokenID: t.TokenID,
		SessionPrefixes: t.SessionPrefixes, AgentIDs: t.AgentIDs,
		MayActFor: t.MayActFor, MayAlways: t.MayAlways, ExpiresAtMs: t.ExpiresAtMs,
	}
	if t.asserted != nil {
		identity.Via, identity.ExpiresAtMs = t.asserted.via(), t.asserted.untilMs
	}
	if t.signIn != nil {
		identity.Via = ViaSession
		if t.ExpiresAtMs == 0 || t.signIn.ExpiresAtMs < t.ExpiresAtMs {
			identity.ExpiresAtMs = t.signIn.ExpiresAtMs
		}
	}
	return identity
}

// View returns the token as it is shown.
func (t *Token) View() api.TokenView {
	return api.TokenView{
		TokenID: t.TokenID, Name: t.Name, Role: t.Role, Principal: t.Principal, Groups: append([]string{}, t.Groups...),
		SessionPrefixes: append([]string{}, t.SessionPrefixes...), AgentIDs: append([]string{}, t.AgentIDs...),
		MayActFor: t.MayActFor, MayAlways: t.MayAlways, Hint: t.Hint, CreatedAtMs: t.CreatedAtMs, CreatedBy: t.CreatedBy,
		ExpiresAtMs: t.ExpiresAtMs, RevokedAtMs: t.RevokedAtMs, LastUsedAtMs: t.LastUsedAtMs,
	}
}

// newToken returns the token that a body describes, without its id and secret. Errors:
// invalid_request with every fault.
func newToken(body *api.CreateTokenBody, nowMs int64) (*Token, error) {
	var faults refusal.Faults
	namable := checkTokenName(&faults, body.Name)
	if !slices.Contains(Roles, body.Role) {
		faults.Add("/role", "must be observer, agent, operator or admin")
	}
	t := &Token{
		Name: body.Name, Role: body.Role, Principal: body.Principal, Groups: body.Groups,
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
		faults.Add("/principal", "is required beside a name that has other characters than A-Z a-z 0-9 . _ : - @")
	}
	checkTexts(&faults, "/groups", t.Groups, api.MaxTokenGroups, func(group string) string {
		if !validName(group) {
			return fmt.Sprintf("must have 1 to %d characters of A-Z a-z 0-9 . _ : - @", api.MaxIDLength)
		}
		return ""
	})
	checkBound(&faults, "/session_prefixes", t.SessionPrefixes, t.Role, api.MaxTokenPrefix)
	checkBound(&faults, "/agent_ids", t.AgentIDs, t.Role, api.MaxIDLength)
	if t.MayAlways && (t.Role == api.RoleAgent || t.Role == api.RoleObserver) {
		faults.Add("/may_always", "an %s writes no rules", t.Role)
	}
	switch {
	case body.ExpiresAtMs != nil && body.ExpiresAfterMs != nil:
		faults.Add("/expires_after_ms", "must not be given beside expires_at_ms")
	case body.ExpiresAtMs != nil && *body.ExpiresAtMs <= nowMs:
		faults.Add("/expires_at_ms", "must be in the future")
	case body.ExpiresAtMs != nil:
		t.ExpiresAtMs = *body.ExpiresAtMs
	case body.ExpiresAfterMs != nil && (*body.ExpiresAfterMs <= 0 || *body.ExpiresAfterMs > maxExpiryMs):
		faults.Add("/expires_after_ms", "must be between 1 and %d", int64(maxExpiryMs))
	case body.ExpiresAfterMs != nil:
		t.ExpiresAtMs = nowMs + *body.ExpiresAfterMs
	}
	return t, faults.Err()
}

// maxExpiryMs keeps a relative expiry, added to the present moment, an integer of JSON.
const maxExpiryMs = 1 << 52

// checkTokenName adds the faults of a name, which tables show in one line, and reports whether there
// were none.
func checkTokenName(faults *refusal.Faults, name string) bool {
	before := len(faults.List)
	faults.RequiredText("/name", name, api.MaxNameLength)
	if len(faults.List) == before && strings.ContainsAny(name, "\t\r\n") {
		faults.Add("/name", "must not hold control characters")
	}
	return len(faults.List) == before
}

// checkBound adds the faults of the prefixes or ids that bound what a token reaches.
func checkBound(faults *refusal.Faults, pointer string, list []string, role api.Role, limit int) {
	switch {
	case list == nil:
	case len(list) == 0:
		faults.Add(pointer, "must not be empty: leave it out for no bound")
	case role == api.RoleAdmin:
		faults.Add(pointer, "an admin cannot be bound")
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

// fingerprint tells calls that make tokens apart.
func fingerprint(body *api.CreateTokenBody) string {
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return "" // only texts that are not UTF-8 have no JSON, and decoding refuses those
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
