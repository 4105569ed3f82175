// Package tokens stores tokens, public signing keys, checkpoints and the audit log for both
// engines. It implements auth.Tokens, signing.Keeper, audit.CheckpointRows and journal.Rows with
// the statements of an engine. These rows belong to no session, so they change in short
// transactions of their own and not by commands of the door.
//
// It must not know a driver, or the permissions of a role.
package tokens

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

// Write is one statement that changes rows, with its arguments.
type Write struct {
	SQL  string
	Args []any
	// Entry, unless it is nil, is a line of the audit's own log that is written when the statement
	// changes a row. Its Caller is checked before all statements that change rows; see [Guarded].
	Entry *journal.Entry
	// Lock is set for a statement that only keeps other transactions out.
	Lock bool
	// Needed refuses the transaction with [auth.Invalid] if the statement changes no row.
	Needed bool
}

// Writer runs statements in one transaction and returns the number of rows that the last one
// changed. Errors: as for auth.Tokens; invalid_token for a caller whose credential does not work.
type Writer interface {
	WriteTokens(ctx context.Context, writes ...Write) (int64, error)
}

// Statements are the statements of an engine that differ between the engines.
type Statements struct {
	// ByIDs has the columns of the tokens in the list $1.
	ByIDs string
	// SignInsByHash reads the sign-ins with a cookie_hash in the list $1; see [SignInsBy].
	SignInsByHash string
	// HeadsByID reads the heads of the sessions in the list $1; see [HeadsBy].
	HeadsByID string
	// LockSeal prevents concurrent seals of the audit's own log; "" if they are impossible.
	LockSeal string
	// LockRevoke, before a revocation or a rotation, prevents concurrent ones; "" if they are impossible.
	// Two of them may be about each other's caller.
	LockRevoke string
}

// Columns is the list of columns of tokens as it is read, and in the order of it written.
const (
	Columns = `token_id, name, role, principal, groups, session_prefixes, agent_ids, may_act_for, may_always, hint,
	secret_hash, previous_hash, previous_until_ms, created_at_ms, created_by, expires_at_ms, revoked_at_ms, last_used_at_ms,
	idempotency_key, fingerprint, on_behalf_of`
	readColumns = `SELECT token_id, name, role, principal, coalesce(groups, ''), coalesce(session_prefixes, ''), coalesce(agent_ids, ''),
	may_act_for, may_always, hint, secret_hash, coalesce(previous_hash, ''), coalesce(previous_until_ms, 0), created_at_ms, created_by,
	coalesce(expires_at_ms, 0), coalesce(revoked_at_ms, 0), coalesce(last_used_at_ms, 0), coalesce(idempotency_key, ''), coalesce(fingerprint, ''),
	coalesce(on_behalf_of, '')
FROM tokens`

	byID   = readColumns + ` WHERE token_id = $1`
	byHash = readColumns + ` WHERE secret_hash = $1
UNION ALL ` + readColumns + ` WHERE previous_hash = $1`
	byKey    = readColumns + ` WHERE created_by = $1 AND idempotency_key = $2`
	anyToken = `SELECT count(*) FROM (SELECT 1 FROM tokens LIMIT 1) AS first`
	list     = readColumns + `
WHERE (created_at_ms > CAST($1 AS bigint) OR created_at_ms = CAST($1 AS bigint) AND token_id > CAST($2 AS text))
	AND (CAST($3 AS text) = ''
		OR CAST($3 AS text) = 'revoked' AND revoked_at_ms IS NOT NULL
		OR CAST($3 AS text) = 'expired' AND revoked_at_ms IS NULL AND expires_at_ms <= CAST($4 AS bigint)
		OR CAST($3 AS text) = 'active' AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > CAST($4 AS bigint)))
ORDER BY created_at_ms, token_id LIMIT CAST($5 AS bigint)`
	// deciders has the roles of auth.Decide; their index begins with the role. Of the identities that an issuer or
	// certificates gave a person, only the one used last counts, as for auth.Keyring.ByLink.
	deciders = readColumns + `
WHERE role IN ('admin', 'operator') AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > CAST($1 AS bigint))
	AND NOT (created_by IN ('oidc', 'certificate') AND EXISTS (
		SELECT 1 FROM tokens AS newer
		WHERE newer.principal = tokens.principal AND newer.created_by IN ('oidc', 'certificate') AND newer.revoked_at_ms IS NULL
			AND coalesce(newer.last_used_at_ms, newer.created_at_ms) > coalesce(tokens.last_used_at_ms, tokens.created_at_ms)))
LIMIT CAST($2 AS bigint)`
	ofPrincipal = readColumns + `
WHERE principal = $1 AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > CAST($2 AS bigint))
ORDER BY token_id DESC LIMIT CAST($3 AS bigint)`
)

// ByIDs returns the statement that reads the tokens that meet a condition.
func ByIDs(condition string) string { return readColumns + " WHERE " + condition }

// Keeper implements auth.Tokens.
type Keeper struct {
	db         read.Database
	writer     Writer
	statements *Statements
}

var _ auth.Tokens = (*Keeper)(nil)

// New returns a keeper. Each read and write ends after [read.Timeout].
func New(db read.Database, writer Writer, statements *Statements) *Keeper {
	return &Keeper{db: read.Bounded(db), writer: writer, statements: statements}
}

// row is a token as it is scanned.
type row struct {
	auth.Token
	groups, sessionPrefixes, agentIDs string
}

func (r *row) targets() []any {
	return []any{
		&r.TokenID, &r.Name, &r.Role, &r.Principal, &r.groups, &r.sessionPrefixes, &r.agentIDs, &r.MayActFor, &r.MayAlways, &r.Hint,
		&r.SecretHash, &r.PreviousHash, &r.PreviousUntilMs, &r.CreatedAtMs, &r.CreatedBy, &r.ExpiresAtMs, &r.RevokedAtMs, &r.LastUsedAtMs,
		&r.Key, &r.Fingerprint, &r.OnBehalfOf,
	}
}

func (k *Keeper) ask(ctx context.Context, sql string, args ...any) ([]auth.Token, error) {
	var found []auth.Token
	err := k.db.Ask(ctx, read.Query{SQL: sql, Args: args, Read: func(rows columns.Rows) error {
		var bad error
		err := columns.Each(rows, (*row).targets, func(r *row) {
			for _, list := range []struct {
				text string
				into *[]string
			}{{r.groups, &r.Groups}, {r.sessionPrefixes, &r.SessionPrefixes}, {r.agentIDs, &r.AgentIDs}} {
				if list.text != "" && bad == nil {
					bad = json.Unmarshal([]byte(list.text), list.into)
				}
			}
			found = append(found, r.Token)
		})
		if err == nil {
			err = bad
		}
		return err
	}})
	return found, err
}

func (k *Keeper) one(ctx context.Context, sql string, args ...any) (*auth.Token, error) {
	found, err := k.ask(ctx, sql, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func (k *Keeper) write(ctx context.Context, writes ...Write) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, read.Timeout)
	defer cancel()
	return k.writer.WriteTokens(ctx, writes...)
}

// AddToken implements auth.Tokens.
func (k *Keeper) AddToken(ctx context.Context, t *auth.Token, entry *journal.Entry) (*auth.Token, error) {
	changed, err := k.write(ctx, Write{SQL: sqlAddToken, Entry: entry, Args: []any{
		t.TokenID, t.Name, string(t.Role), t.Principal, texts(t.Groups), texts(t.SessionPrefixes), texts(t.AgentIDs), t.MayActFor, t.MayAlways, t.Hint,
		t.SecretHash, orNull(t.PreviousHash), numberOrNull(t.PreviousUntilMs), t.CreatedAtMs, t.CreatedBy,
		numberOrNull(t.ExpiresAtMs), numberOrNull(t.RevokedAtMs), numberOrNull(t.LastUsedAtMs), orNull(t.Key), orNull(t.Fingerprint), orNull(t.OnBehalfOf),
	}})
	if err != nil || changed > 0 {
		return t, err
	}
	found, err := k.TokenByKey(ctx, t.CreatedBy, t.Key)
	if err == nil && found == nil {
		err = auth.UnknownToken() // tokens are never deleted
	}
	return found, err
}

// TokenByKey implements auth.Tokens.
func (k *Keeper) TokenByKey(ctx context.Context, createdBy, key string) (*auth.Token, error) {
	return k.one(ctx, byKey, createdBy, key)
}

// Token implements auth.Tokens.
func (k *Keeper) Token(ctx context.Context, tokenID string) (*auth.Token, error) {
	found, err := k.one(ctx, byID, tokenID)
	if err == nil && found == nil {
		err = auth.UnknownToken()
	}
	return found, err
}

// TokenByHash implements auth.Tokens.
func (k *Keeper) TokenByHash(ctx context.Context, hash string) (*auth.Token, error) {
	return k.one(ctx, byHash, hash)
}

// TokensByID implements auth.Tokens.
func (k *Keeper) TokensByID(ctx context.Context, tokenIDs []string) ([]auth.Token, error) {
	return k.ask(ctx, k.statements.ByIDs, k.db.List(tokenIDs))
}

// ListTokens implements auth.Tokens.
func (k *Keeper) ListTokens(ctx context.Context, q auth.TokenQuery) ([]auth.Token, error) {
	if !utf8.ValidString(q.AfterID) {
		return nil, nil
	}
	return k.ask(ctx, list, q.AfterMs, q.AfterID, string(q.State), q.NowMs, q.Limit)
}

// Deciders implements auth.Tokens.
func (k *Keeper) Deciders(ctx context.Context, nowMs int64, limit int) ([]auth.Token, error) {
	return k.ask(ctx, deciders, nowMs, limit)
}

// TokensOf implements auth.Tokens.
func (k *Keeper) TokensOf(ctx context.Context, principal string, nowMs int64, limit int) ([]auth.Token, error) {
	if !utf8.ValidString(principal) {
		return nil, nil
	}
	return k.ask(ctx, ofPrincipal, principal, nowMs, limit)
}

// AnyToken implements auth.Tokens.
func (k *Keeper) AnyToken(ctx context.Context) (bool, error) {
	count, err := read.Find(ctx, k.db, columns.Itself[int64], anyToken)
	return count != nil && *count > 0, err
}

// RotateToken implements auth.Tokens.
func (k *Keeper) RotateToken(ctx context.Context, tokenID, hash, hint string, previousUntilMs, nowMs int64, entry *journal.Entry) (bool, error) {
	return k.alone(ctx,
		Write{SQL: sqlLockToken, Args: []any{tokenID}},
		Write{SQL: sqlDropSignInsOfToken, Args: []any{tokenID}},
		Write{SQL: sqlRotateToken, Args: []any{tokenID, hash, hint, previousUntilMs, nowMs}, Entry: entry})
}

// RevokeToken implements auth.Tokens.
func (k *Keeper) RevokeToken(ctx context.Context, tokenID string, keepAdmin bool, nowMs int64, entry *journal.Entry) (bool, error) {
	return k.alone(ctx, Write{SQL: sqlRevokeToken, Args: []any{tokenID, nowMs, keepAdmin}, Entry: entry})
}

// alone writes without a concurrent revocation or rotation, and reports whether the last statement changed
// a row.
func (k *Keeper) alone(ctx context.Context, writes ...Write) (bool, error) {
	if k.statements.LockRevoke != "" {
		writes = slices.Insert(writes, 0, Write{SQL: k.statements.LockRevoke, Lock: true})
	}
	changed, err := k.write(ctx, writes...)
	return changed > 0, err
}

// TouchToken implements auth.Tokens.
func (k *Keeper) TouchToken(ctx context.Context, tokenID string, usedAtMs int64) error {
	_, err := k.write(ctx, Write{SQL: sqlTouchToken, Args: []any{tokenID, usedAtMs}})
	return err
}

// texts is a list as it is stored: NULL when it is empty.
func texts(list []string) any {
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil // a text that is not UTF-8 was refused before
	}
	return string(text)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func numberOrNull(number int64) any {
	if number == 0 {
		return nil
	}
	return number
}
