// Package oidctest is an in-process OpenID Connect issuer for tests: discovery, authorization with
// PKCE, tokens and key rotation. It authenticates configured users and can return invalid tokens.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// The registered client.
const (
	ClientID     = "holdpoint"
	ClientSecret = "the client's secret"
)

// Issuer is an issuer on a loopback address.
type Issuer struct {
	URL string
	// Down makes every call fail with 503.
	Down atomic.Bool
	// KeyReads counts the reads of the keys.
	KeyReads atomic.Int64

	tb     testing.TB
	server *httptest.Server

	mu     sync.Mutex
	keys   []jose.JSONWebKey
	who    map[string]any
	change func(claims map[string]any)
	codes  map[string]grant
	number int
	kind   string
}

// grant is the authorization behind a code.
type grant struct{ challenge, nonce, redirect string }

// Start runs an issuer for the duration of the test.
func Start(tb testing.TB) *Issuer {
	tb.Helper()
	i := &Issuer{tb: tb, codes: map[string]grant{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /keys", i.showKeys)
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.Down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	tb.Cleanup(i.server.Close)
	i.URL = i.server.URL
	i.Rotate()
	return i
}

// Is sets the user who signs in next.
func (i *Issuer) Is(subject string, groups ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.who, i.change = map[string]any{"sub": subject, "groups": groups}, nil
}

// Lies changes the claims of the next ID tokens.
func (i *Issuer) Lies(change func(claims map[string]any)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.change = change
}

// Types sets the typ header of later tokens.
func (i *Issuer) Types(kind string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.kind = kind
}

// Rotate replaces the signing key.
func (i *Issuer) Rotate() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(i.tb, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.number++
	i.keys = []jose.JSONWebKey{{Key: key, KeyID: "key-" + strconv.Itoa(i.number), Algorithm: string(jose.RS256), Use: "sig"}}
}

// IDToken returns an ID token for the current user, with changed claims.
func (i *Issuer) IDToken(change map[string]any) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sign(change)
}

// sign is IDToken for callers that hold the lock.
func (i *Issuer) sign(change map[string]any) string {
	now := time.Now().Unix() //nolint:forbidigo // the issuer has its own clock
	claims := map[string]any{"iss": i.URL, "aud": ClientID, "iat": now, "exp": now + 3600}
	maps.Copy(claims, i.who)
	maps.Copy(claims, change)
	if i.change != nil {
		i.change(claims)
	}
	text, err := json.Marshal(claims)
	require.NoError(i.tb, err)
	options := &jose.SignerOptions{}
	if i.kind != "" {
		options = options.WithType(jose.ContentType(i.kind))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: i.keys[0]}, options)
	require.NoError(i.tb, err)
	signed, err := signer.Sign(text)
	require.NoError(i.tb, err)
	compact, err := signed.CompactSerialize()
	require.NoError(i.tb, err)
	return compact
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	i.show(w, http.StatusOK, map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "scopes_supported": []string{"openid", "groups"},
		"id_token_signing_alg_values_supported": []string{"RS256", "none"}, "code_challenge_methods_supported": []string{"S256"},
	})
}

func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("client_id") != ClientID || query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" || query.Get("nonce") == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.codes[code] = grant{query.Get("code_challenge"), query.Get("nonce"), query.Get("redirect_uri")}
	i.mu.Unlock()
	http.Redirect(w, r, query.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {query.Get("state")}}.Encode(), http.StatusFound)
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	if id != ClientID || secret != ClientSecret {
		i.show(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	granted, found := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !found || granted.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || granted.redirect != r.FormValue("redirect_uri") {
		i.show(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	i.show(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "id_token": i.sign(map[string]any{"nonce": granted.nonce})})
}

func (i *Issuer) showKeys(w http.ResponseWriter, _ *http.Request) {
	i.KeyReads.Add(1)
	i.mu.Lock()
	defer i.mu.Unlock()
	var keys []jose.JSONWebKey
	for _, key := range i.keys {
		keys = append(keys, key.Public())
	}
	i.show(w, http.StatusOK, jose.JSONWebKeySet{Keys: keys})
}

func (i *Issuer) show(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		i.tb.Errorf("write the answer: %v", err)
	}
}
