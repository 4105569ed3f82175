package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

const (
	// askTimeout limits the duration of a call to the issuer, maxAnswer the size of its response.
	askTimeout = 5 * time.Second
	maxAnswer  = 1 << 20
	// again is how long the issuer is not called after it was unavailable.
	again = 2 * time.Second
	// keysEvery is the minimum time between two reads of the keys, so that forged ID tokens do not
	// cause calls to the issuer.
	keysEvery = time.Second
)

// algorithms are the accepted signature algorithms: public-key ones only, never none.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// Provider is a client of one issuer. It is safe for concurrent use.
type Provider struct {
	options Options
	roles   map[string]api.Role
	client  *http.Client

	mu sync.Mutex
	// known is the issuer's metadata, nil before discovery.
	known *discovered
	// failedAt is the time of the last failed call.
	failedAt time.Time
}

// discovered is the metadata and the keys of a reachable issuer.
type discovered struct {
	endpoint oauth2.Endpoint
	scopes   []string
	verifier *oidc.IDTokenVerifier
}

// New returns a provider. It does not call the issuer yet, so the service starts and signed-in
// users continue while the issuer is unavailable.
func New(options Options) (*Provider, error) {
	if _, err := checkURL("the issuer", options.Issuer); err != nil {
		return nil, err
	}
	if options.ClientID == "" {
		return nil, errors.New("the issuer needs a client id")
	}
	if options.ExternalURL != "" {
		external, err := checkURL("the external URL", options.ExternalURL)
		if err != nil {
			return nil, err
		}
		if strings.Trim(external.Path, "/") != "" {
			return nil, fmt.Errorf("the external URL %q must have no path", options.ExternalURL)
		}
		options.ExternalURL = strings.TrimSuffix(options.ExternalURL, "/")
	}
	roles, err := rolesOf(options.Roles)
	if err != nil {
		return nil, err
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Provider{options: options, roles: roles}
	p.client = defaultClient(&bounded{next: http.DefaultTransport})
	return p, nil
}

// Name is the issuer's host.
func (p *Provider) Name() string {
	at, err := checkURL("", p.options.Issuer)
	if err != nil {
		return "" // New parsed it
	}
	return at.Host
}

// bounded limits the issuer's responses to maxAnswer.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// away returns issuer_unavailable and logs the cause.
func (p *Provider) away(ctx context.Context, what string, err error) error {
	p.options.Logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelWarn, "the issuer does not answer", slog.String("what", what), slog.String("error", err.Error()))
	return refusal.New(api.CodeIssuerUnavailable, "the issuer %s is not available: try again", p.Name())
}

// discover returns the issuer's metadata and reads it once. Errors: issuer_unavailable.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch now := p.options.Now(); {
	case p.known != nil:
		return p.known, nil
	case now.Before(p.failedAt.Add(again)):
		return nil, p.away(ctx, "discovery", errors.New("it did not a moment ago"))
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	found, err := oidc.NewProvider(oidc.ClientContext(asking, p.client), p.options.Issuer)
	var more struct {
		Keys   string   `json:"jwks_uri"`
		Scopes []string `json:"scopes_supported"`
	}
	if err == nil {
		err = found.Claims(&more)
	}
	if err == nil {
		endpoint := found.Endpoint()
		for what, address := range map[string]string{"authorization_endpoint": endpoint.AuthURL, "token_endpoint": endpoint.TokenURL, "jwks_uri": more.Keys} {
			if bad := checkAddress(what, address); bad != nil {
				err = bad
			}
		}
	}
	if err != nil {
		p.failedAt = p.options.Now()
		return nil, p.away(ctx, "discovery", err)
	}
	limited := &http.Client{Timeout: askTimeout, CheckRedirect: p.client.CheckRedirect, Transport: &seldom{
		next: p.client.Transport, limit: rate.NewLimiter(rate.Every(keysEvery), 2), now: p.options.Now,
	}}
	keys := &keySet{oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), limited), more.Keys)}
	scopes := []string{oidc.ScopeOpenID, "profile"}
	if slices.Contains(more.Scopes, "groups") {
		scopes = append(scopes, "groups")
	}
	p.known = &discovered{found.Endpoint(), scopes, oidc.NewVerifier(p.options.Issuer, keys, &oidc.Config{
		ClientID: p.options.ClientID, SupportedSigningAlgs: algorithms, Now: p.options.Now,
	})}
	return p.known, nil
}

// seldom limits the rate of requests.
type seldom struct {
	next  http.RoundTripper
	limit *rate.Limiter
	now   func() time.Time
}

var errTooOften = errors.New("the keys were read a moment ago")

// RoundTrip implements http.RoundTripper.
func (s *seldom) RoundTrip(r *http.Request) (*http.Response, error) {
	if !s.limit.AllowN(s.now(), 1) {
		return nil, errTooOften
	}
	return s.next.RoundTrip(r)
}

// keySet distinguishes a wrong signature from keys that could not be read.
type keySet struct{ oidc.KeySet }

type unreadKeysKey struct{}

// VerifySignature implements [oidc.KeySet].
func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	// The library has no error type for it.
	if unread, _ := ctx.Value(unreadKeysKey{}).(*error); unread != nil && err != nil && strings.HasPrefix(err.Error(), "fetching keys") {
		*unread = err
	}
	return payload, err
}

// verify checks the type, signature, issuer, audience and lifetime of an ID token. Errors:
// invalid_token, issuer_unavailable.
func (p *Provider) verify(ctx context.Context, raw string) (*claims, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(raw); err != nil {
		return nil, p.refused(ctx, err)
	}
	var unread error
	token, err := known.verifier.Verify(context.WithValue(ctx, unreadKeysKey{}, &unread), raw)
	switch {
	case unread != nil && !strings.Contains(unread.Error(), errTooOften.Error()):
		return nil, p.away(ctx, "keys", unread)
	case err != nil:
		return nil, p.refused(ctx, err)
	}
	c, err := claimsOf(token, p.options.Now())
	if err != nil {
		return nil, p.refused(ctx, err)
	}
	return c, nil
}

// refused logs why an ID token was refused. The library's error does not contain the signature.
func (p *Provider) refused(ctx context.Context, reason error) error {
	p.options.Logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "ID token refused", slog.String("reason", reason.Error()))
	return auth.Invalid()
}

// Identify returns the identity in an ID token. Errors: invalid_token; forbidden when none of the
// groups has a role; issuer_unavailable.
func (p *Provider) Identify(ctx context.Context, raw string) (*auth.Assertion, error) {
	c, err := p.verify(ctx, raw)
	switch {
	case err != nil:
		return nil, err
	case c.foreign(p.options.ClientID):
		return nil, p.refused(ctx, errors.New("the token was made for another program"))
	}
	return p.identify(ctx, c)
}

func (p *Provider) identify(ctx context.Context, c *claims) (*auth.Assertion, error) {
	made, err := p.assertion(c)
	switch {
	case err != nil:
		return nil, p.refused(ctx, err)
	case made == nil:
		return nil, refusal.New(api.CodeForbidden, "%s knows this user, but none of the groups has a role here: "+
			"the operator maps groups to roles with HOLDPOINT_OIDC_ROLES", p.Name())
	}
	return made, nil
}

// same compares two secrets in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
