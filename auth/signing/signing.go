// Package signing signs data that others verify without asking the service (checkpoints of the
// audit log, grants), and verifies signatures of this or another replica. A signature is a compact
// JWS by an Ed25519 key. Replicas have their own keys or share one. The public half of every key
// that was ever used is in the database, so every replica knows them all.
//
// It must not know HTTP, SQL, or the meaning of the signed data.
package signing

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
)

const (
	// MaxKeys is the maximum number of public keys shown and trusted. Beyond it the oldest are left
	// out.
	MaxKeys = 1000
	// freshForMs is how long the public keys from the last read are considered complete.
	freshForMs = 1000
	// maxTextBytes is the maximum length of a text to verify.
	maxTextBytes = 1 << 20
)

// ErrInvalid is wrapped by the error for a text that is not signed by a known key for that purpose.
var ErrInvalid = errors.New("the signature does not hold")

// errUnknownKey is an [ErrInvalid].
var errUnknownKey = fmt.Errorf("%w: its key", ErrInvalid)

// PublicKey is the stored public half of a key.
type PublicKey struct {
	// KeyID is the RFC 7638 thumbprint of the key.
	KeyID string
	// X is the key in base64url, as in a JWK.
	X           string
	CreatedAtMs int64
}

// Keeper stores public keys. Every engine implements it. Its errors wrap runs.ErrUnavailable or
// runs.ErrClosed, or are the context's.
type Keeper interface {
	// AddSigningKeys inserts the keys that are new, each with its audit entry.
	AddSigningKeys(ctx context.Context, keys []PublicKey, entries []*journal.Entry) error
	// SigningKeys returns the newest keys, at most limit.
	SigningKeys(ctx context.Context, limit int) ([]PublicKey, error)
}

// Keys signs with one key and verifies with all. It is safe for concurrent use.
type Keys struct {
	// Ephemeral says that the private key is lost when this process ends. Set it before the first use.
	Ephemeral bool

	starts  sync.Map // by purpose, the beginning of each JWS: the header and the dot
	private ed25519.PrivateKey
	own     []PublicKey // own[0] belongs to private
	keeper  Keeper
	nowMs   func() int64
	reads   singleflight.Group

	mu       sync.Mutex
	known    *Public
	readAtMs int64
}

// New returns keys that sign with the first private key; the others only verify. With a nil keeper
// no other keys are known. At least one private key is required; see [Generate] and [Load].
func New(private []ed25519.PrivateKey, keeper Keeper, nowMs func() int64) (*Keys, error) {
	if len(private) == 0 {
		return nil, errors.New("there is no private key to sign with")
	}
	k := &Keys{private: private[0], keeper: keeper, nowMs: nowMs}
	for _, key := range private {
		public, err := publicOf(key, nowMs())
		if err != nil {
			return nil, err
		}
		k.own = append(k.own, public)
	}
	known, err := publicKeys(k.own)
	k.known = known
	return k, err
}

// joseHeader is the header of a JWS. Its members have the same order as jose's signers write.
type joseHeader struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Typ string `json:"typ"`
}

// Generate returns a new private key.
func Generate() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

func publicOf(private ed25519.PrivateKey, nowMs int64) (PublicKey, error) {
	public, is := private.Public().(ed25519.PublicKey)
	if !is {
		return PublicKey{}, errors.New("not an Ed25519 key")
	}
	keyID, err := thumbprint(public)
	return PublicKey{KeyID: keyID, X: base64.RawURLEncoding.EncodeToString(public), CreatedAtMs: nowMs}, err
}

// Publish stores the public halves of the own keys with the keeper. Call it before signing. Errors:
// errors of [Keeper].
func (k *Keys) Publish(ctx context.Context) error {
	if k.keeper == nil {
		return nil
	}
	entries := make([]*journal.Entry, len(k.own))
	for i, key := range k.own {
		entries[i] = journal.New(key.CreatedAtMs, api.ResolvedBySystem, api.AuditEvent{Type: api.AuditKeyAdded, KeyID: key.KeyID})
	}
	return k.keeper.AddSigningKeys(ctx, k.own, entries)
}

// KeyID returns the id of the key that signs.
func (k *Keys) KeyID() string { return k.own[0].KeyID }

// Sign returns the compact JWS of a payload. The purpose is its "typ": a signature for one purpose
// is refused for every other.
func (k *Keys) Sign(purpose string, payload []byte) (string, error) {
	start, known := k.starts.Load(purpose)
	if !known {
		header, err := json.Marshal(joseHeader{Alg: string(jose.EdDSA), Kid: k.KeyID(), Typ: purpose})
		if err != nil {
			return "", fmt.Errorf("sign: %w", err)
		}
		start, _ = k.starts.LoadOrStore(purpose, base64.RawURLEncoding.EncodeToString(header)+".")
	}
	text := []byte(start.(string)) //nolint:forcetypeassert // nothing else is stored
	text = slices.Grow(text, base64.RawURLEncoding.EncodedLen(len(payload))+len(".")+base64.RawURLEncoding.EncodedLen(ed25519.SignatureSize))
	text = base64.RawURLEncoding.AppendEncode(text, payload)
	signature := ed25519.Sign(k.private, text)
	return string(base64.RawURLEncoding.AppendEncode(append(text, '.'), signature)), nil
}

// Verify returns the payload of a compact JWS that any replica of this service signed for a
// purpose. An unknown key causes another read of the keys, because a replica may have added it
// since. Errors: [ErrInvalid]; errors of [Keeper]; the context's.
func (k *Keys) Verify(ctx context.Context, purpose, text string) ([]byte, error) {
	k.mu.Lock()
	known := k.known
	k.mu.Unlock()
	payload, err := known.Verify(purpose, text)
	if err == nil || k.keeper == nil {
		return payload, err
	}
	if known, err = k.all(ctx); err != nil {
		return nil, err
	}
	payload, err = known.Verify(purpose, text)
	// Concurrent callers share a read. A read that was already under way may have missed the key,
	// so read twice.
	for again := 0; again < 2 && errors.Is(err, errUnknownKey); again++ {
		if known, err = k.read(ctx); err != nil {
			return nil, err
		}
		payload, err = known.Verify(purpose, text)
	}
	return payload, err
}

// Public returns the public keys, newest first. Errors: errors of [Keeper].
func (k *Keys) Public(ctx context.Context) (api.KeySet, error) {
	known, err := k.all(ctx)
	if err != nil {
		return api.KeySet{}, err
	}
	set := known.set
	set.Ephemeral = k.Ephemeral
	return set, nil
}

// all returns the keys of all replicas, at most freshForMs old.
func (k *Keys) all(ctx context.Context) (*Public, error) {
	nowMs := k.nowMs()
	k.mu.Lock()
	known, readAtMs := k.known, k.readAtMs
	k.mu.Unlock()
	if k.keeper == nil || readAtMs != 0 && nowMs >= readAtMs && nowMs < readAtMs+freshForMs {
		return known, nil
	}
	return k.read(ctx)
}

// read reads the keys of all replicas. Concurrent callers share a read.
func (k *Keys) read(ctx context.Context) (*Public, error) {
	reading := k.reads.DoChan("", func() (any, error) {
		nowMs := k.nowMs()
		kept, err := k.keeper.SigningKeys(context.WithoutCancel(ctx), MaxKeys)
		if err != nil {
			return nil, err
		}
		public, err := publicKeys(append(kept, k.own...))
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		k.known, k.readAtMs = public, nowMs
		k.mu.Unlock()
		return public, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case read := <-reading:
		if read.Err != nil {
			return nil, read.Err
		}
		return read.Val.(*Public), nil //nolint:forcetypeassert // nothing else is returned
	}
}

// Public is a set of public keys: enough to verify without the service.
type Public struct {
	set  api.KeySet
	byID map[string]ed25519.PublicKey
}

// publicKeys keeps the first of several keys with one id.
func publicKeys(keys []PublicKey) (*Public, error) {
	set := api.KeySet{Keys: []api.PublicKey{}}
	seen := map[string]bool{}
	for _, key := range keys {
		if !seen[key.KeyID] {
			seen[key.KeyID] = true
			set.Keys = append(set.Keys, api.PublicKey{Kty: "OKP", Crv: "Ed25519", X: key.X, Kid: key.KeyID, Alg: "EdDSA", Use: "sig"})
		}
	}
	return NewPublic(set)
}

// NewPublic returns the keys of a JWKS. Keys that are not Ed25519 are ignored. A key whose id is
// not its RFC 7638 thumbprint is an error.
func NewPublic(set api.KeySet) (*Public, error) {
	public := &Public{
		set:  api.KeySet{Keys: []api.PublicKey{}, Ephemeral: set.Ephemeral},
		byID: map[string]ed25519.PublicKey{},
	}
	for i, key := range set.Keys {
		if key.Kty != "OKP" || key.Crv != "Ed25519" {
			continue
		}
		x, err := base64.RawURLEncoding.Strict().DecodeString(key.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("key %d of the set is not an Ed25519 public key", i)
		}
		keyID, err := thumbprint(x)
		if err != nil {
			return nil, err
		}
		if keyID != key.Kid {
			return nil, fmt.Errorf("key %d of the set has the id %.80q, and its RFC 7638 thumbprint is %s", i, key.Kid, keyID)
		}
		public.byID[keyID] = x
		public.set.Keys = append(public.set.Keys, key)
	}
	return public, nil
}

// Set returns the keys as a JWKS, without those that were ignored: each id is a thumbprint.
func (p *Public) Set() api.KeySet { return p.set }

// Verify returns the payload of a compact JWS that one of the keys signed for a purpose. Errors:
// [ErrInvalid], with the reason.
func (p *Public) Verify(purpose, text string) ([]byte, error) {
	if len(text) > maxTextBytes || !isCompact(text) {
		return nil, fmt.Errorf("%w: it is not a compact JWS", ErrInvalid)
	}
	parsed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return nil, fmt.Errorf("%w: it is not a compact JWS with EdDSA", ErrInvalid)
	}
	header := parsed.Signatures[0].Protected
	if typ, _ := header.ExtraHeaders[jose.HeaderType].(string); typ != purpose {
		return nil, fmt.Errorf("%w: it was made for %.80q and not for %q", ErrInvalid, typ, purpose)
	}
	key, known := p.byID[header.KeyID]
	if !known {
		return nil, fmt.Errorf("%w %.80q is not among the known ones", errUnknownKey, header.KeyID)
	}
	payload, err := parsed.Verify(key)
	if err != nil {
		return nil, fmt.Errorf("%w: it was not made with key %s", ErrInvalid, header.KeyID)
	}
	return payload, nil
}

// isCompact reports whether a text has three parts in canonical base64url, so that a signature
// cannot have two spellings.
func isCompact(text string) bool {
	parts := strings.Split(text, ".")
	for _, part := range parts {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil || strings.ContainsAny(part, "\r\n") {
			return false
		}
	}
	return len(parts) == 3
}
