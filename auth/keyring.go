package auth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Mode says when the service requires a credential.
type Mode int

// The modes.
const (
	// Auto requires a credential as soon as a token was ever created.
	Auto Mode = iota
	// Required always requires a credential.
	Required
	// None never requires a credential.
	None
)

const (
	// freshFor is how long a cached token is trusted, in milliseconds. A token that another replica
	// revoked works no longer than this.
	freshFor = 500
	// watchInterval is the interval for re-reading the tokens of open calls. Calls whose token was
	// revoked or has expired are ended.
	watchInterval = time.Second
	// maxRemembered is the maximum number of cached tokens.
	maxRemembered = 10_000
	// minuteMs is the resolution of last_used_at_ms.
	minuteMs = 60_000
)

// Options configure a [Keyring]. Tokens, NowMs and NewID are required.
type Options struct {
	Tokens Tokens
	Mode   Mode
	// NowMs returns the current time in milliseconds since the epoch.
	NowMs func() int64
	// NewID generates the ids of tokens.
	NewID func(prefix string) string
	// Issuer is set when an OpenID Connect issuer authenticates people. Mode Auto then always
	// requires a credential, and the last admin's token may be revoked.
	Issuer bool
	// Logger receives the reasons for refused credentials. Nil disables it.
	Logger *slog.Logger
}

// Keyring authenticates secrets and manages tokens. It is safe for concurrent use.
type Keyring struct {
	tokens Tokens
	mode   Mode
	nowMs  func() int64
	newID  func(prefix string) string
	logger *slog.Logger
	issuer bool

	reads singleflight.Group
	// closed is set once a token is known to exist. From then on mode Auto requires a credential.
	closed      atomic.Bool
	openUntilMs atomic.Int64
	// whileOpen ends with shut.
	whileOpen context.Context //nolint:containedctx // it is what the contexts of calls end with
	endOpen   context.CancelFunc
	openCalls atomic.Int64 // calls of EnterOpen that are not over

	mu         sync.Mutex
	remembered map[string]*remembered // by the hash of the secret, or by signInKey and the hash of the cookie
}

// remembered is a cached credential. The keyring's lock guards everything except tokenID, hash,
// asserted, valid and end, which do not change.
type remembered struct {
	tokenID  string
	hash     string
	asserted *assertedBy // nil for secrets and cookies
	// token is replaced, never modified.
	token *Token
	// readAtMs is a time before the token was read.
	readAtMs int64
	// valid ends when the secret stops working.
	valid context.Context //nolint:containedctx // it is what the contexts of calls end with
	end   context.CancelFunc
	calls int // open calls
	// usedAtMs is the minute of the last use, or the creation in that minute; writtenAtMs is the one last written.
	usedAtMs, writtenAtMs int64
}

// NewKeyring returns a keyring.
func NewKeyring(options Options) *Keyring {
	logger := cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	if options.Issuer && options.Mode == Auto {
		options.Mode = Required
	}
	k := &Keyring{
		issuer: options.Issuer,
		tokens: options.Tokens, mode: options.Mode, nowMs: options.NowMs, newID: options.NewID, logger: logger,
		remembered: map[string]*remembered{},
	}
	k.whileOpen, k.endOpen = context.WithCancel(context.Background())
	return k
}

// ErrRevoked is the cause of a call's cancelled context when its token was revoked or expired
// during the call, or when it had none and the first token was created.
var ErrRevoked = errors.New("the token of this call was revoked or has expired")

// Invalid is the error for a credential that does not work, whatever the reason.
func Invalid() error {
	return refusal.New(api.CodeInvalidToken, "the token does not work: it is malformed, unknown, expired or revoked")
}

// Missing is the error for a call without a readable credential.
func Missing() error {
	return refusal.New(api.CodeUnauthenticated, "a credential is required: Authorization: Bearer and a token (holdpoint tokens create)")
}

// Open reports whether the service requires no credential now. Errors: errors of [Tokens].
func (k *Keyring) Open(ctx context.Context) (bool, error) {
	switch {
	case k.mode == None:
		return true, nil
	case k.mode == Required || k.closed.Load():
		return false, nil
	}
	nowMs := k.nowMs()
	if until := k.openUntilMs.Load(); nowMs < until && nowMs >= until-freshFor {
		return true, nil
	}
	anyToken, readAtMs, err := shared(ctx, k, "any", k.tokens.AnyToken)
	switch {
	case err != nil:
		return false, err
	case anyToken:
		k.shut()
		return false, nil
	}
	k.openUntilMs.Store(readAtMs + freshFor)
	// A token may have been created during the read.
	return !k.closed.Load(), nil
}

// Authenticate returns the identity of a secret. Errors: invalid_token, with the same text for
// every reason (the log has the reason); errors of [Tokens].
func (k *Keyring) Authenticate(ctx context.Context, secret string) (*Identity, error) {
	known, token, err := k.find(ctx, secret)
	if err != nil {
		return nil, err
	}
	return identityOf(known, token), nil
}

// Enter is Authenticate for a long call: the returned context ends, with cause [ErrRevoked], soon
// after the secret stops working. Call leave when the call is over.
func (k *Keyring) Enter(ctx context.Context, secret string) (identity *Identity, during context.Context, leave func(), err error) {
	known, token, err := k.find(ctx, secret)
	if err != nil {
		return nil, nil, nil, err
	}
	during, leave = k.enter(ctx, known)
	return identityOf(known, token), during, leave, nil
}

// identityOf returns the identity of a cached credential.
func identityOf(known *remembered, token *Token) *Identity {
	identity := token.Identity()
	identity.cacheKey = known.hash
	if identity.Via == ViaToken {
		identity.Credential = known.hash
	}
	return identity
}

// enter counts a call and returns its context.
func (k *Keyring) enter(ctx context.Context, known *remembered) (during context.Context, leave func()) {
	k.mu.Lock()
	known.calls++
	k.mu.Unlock()
	during, end := endingWith(ctx, known.valid)
	return during, func() {
		end()
		k.mu.Lock()
		known.calls--
		k.mu.Unlock()
	}
}

// find returns the cache entry and token of a valid secret.
func (k *Keyring) find(ctx context.Context, secret string) (*remembered, *Token, error) {
	if !WellFormed(secret) {
		return nil, nil, k.refuse(ctx, "malformed", HintOf(secret))
	}
	return k.findHash(ctx, HashOf(secret), HintOf(secret))
}

// findHash is find by the secret's hash. The hint is for the log.
func (k *Keyring) findHash(ctx context.Context, hash, hint string) (*remembered, *Token, error) {
	nowMs := k.nowMs()
	known, token := k.recall(hash, nowMs)
	if known == nil {
		read, readAtMs, err := shared(ctx, k, hash, func(ctx context.Context) (*Token, error) { return k.tokens.TokenByHash(ctx, hash) })
		if err != nil {
			return nil, nil, err
		}
		if read == nil {
			k.forget(hash)
			return nil, nil, k.refuse(ctx, "unknown", hint)
		}
		known, token = k.remember(hash, read, readAtMs)
	}
	if known.valid.Err() != nil || !token.AcceptsAt(hash, nowMs) {
		k.forget(hash)
		reason := string(token.StateAt(nowMs))
		if reason == string(api.TokenActive) {
			reason = "rotated"
		}
		return nil, nil, k.refuse(ctx, reason, hint)
	}
	return known, token, nil
}

// recall returns a cached credential and notes its use; nil when the entry is too old.
func (k *Keyring) recall(hash string, nowMs int64) (*remembered, *Token) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.remembered[hash]
	if known == nil || nowMs >= known.readAtMs+freshFor || nowMs < known.readAtMs {
		return nil, nil
	}
	known.use(nowMs)
	return known, known.token
}

// use notes a use. The caller holds the lock. A token is not used in a minute before it was created.
func (r *remembered) use(nowMs int64) {
	r.usedAtMs = max(r.usedAtMs, nowMs-nowMs%minuteMs, r.token.CreatedAtMs)
}

func (k *Keyring) refuse(ctx context.Context, reason, hint string) error {
	k.logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "token refused", slog.String("reason", reason), slog.String("hint", hint))
	return Invalid()
}

// remember caches a token that was read at a moment. Open calls keep their context.
func (k *Keyring) remember(hash string, token *Token, readAtMs int64) (*remembered, *Token) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.remembered[hash]
	switch {
	// A token that was read before the clock was set back is older, although its time is later.
	case known != nil && (known.readAtMs < readAtMs || known.readAtMs > k.nowMs()):
		known.readAtMs, known.token = readAtMs, token
	case known == nil:
		if len(k.remembered) >= maxRemembered {
			k.dropIdle()
		}
		known = &remembered{tokenID: token.TokenID, hash: hash, asserted: token.asserted, token: token, readAtMs: readAtMs, writtenAtMs: token.LastUsedAtMs}
		known.valid, known.end = context.WithCancel(context.Background())
		k.remembered[hash] = known
	}
	known.use(readAtMs)
	return known, known.token
}

// dropIdle evicts entries without open calls. The caller holds the lock.
func (k *Keyring) dropIdle() {
	for hash, known := range k.remembered {
		if known.calls == 0 {
			known.end()
			delete(k.remembered, hash)
		}
	}
}

// forget ends the calls of a secret that stopped working.
func (k *Keyring) forget(hash string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.remembered[hash]; known != nil {
		known.end()
		delete(k.remembered, hash)
	}
}

// shared runs one read for all concurrent callers. The read continues when a caller gives up. readAtMs is the time
// at which it began, which may be before the caller joined it.
func shared[T any](ctx context.Context, k *Keyring, key string, read func(context.Context) (T, error)) (value T, readAtMs int64, err error) {
	type dated struct {
		value  T
		fromMs int64
	}
	done := k.reads.DoChan(key, func() (any, error) {
		fromMs := k.nowMs()
		value, err := read(context.WithoutCancel(ctx))
		return dated{value, fromMs}, err
	})
	select {
	case <-ctx.Done():
		return value, 0, context.Cause(ctx)
	case result := <-done:
		if result.Err != nil {
			return value, 0, result.Err
		}
		got := result.Val.(dated) //nolint:forcetypeassert // it is what the function above returned
		return got.value, got.fromMs, nil
	}
}
