package wire

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Access authorizes every call: it authenticates the caller, checks its role for the action of the
// route, and applies its quota. A nil Access requires no credential and has no
// quotas.
type Access struct {
	Keyring *auth.Keyring
	Quotas  *Quotas
	// Identify returns the identity in an ID token; nil without an issuer. Errors: invalid_token,
	// forbidden, issuer_unavailable.
	Identify func(ctx context.Context, idToken string) (*auth.Assertion, error)
	// Certificates accepts a verified client certificate as an agent's credential when the call has
	// no other.
	Certificates bool
}

// challenge is sent when a credential is missing, refusedToken when it is invalid.
var (
	challenge    = []string{`Bearer realm="holdpoint"`}
	refusedToken = []string{`Bearer realm="holdpoint", error="invalid_token"`}
	actorIgnored = []string{`299 holdpoint "X-Actor was ignored: this token may not act for others"`}
)

// Guard returns the handler of a route for callers who may call it, with their identity
// in the request's context (see [auth.From]). Other callers get an error: unauthenticated,
// invalid_token, forbidden, an error of [Quotas], or one of the database. When the call's token is
// revoked, or it has none and the first token is created, its context ends.
func (a *Access) Guard(route *Route) HandlerFunc {
	action, next := route.Action, route.Handle
	if action == "" {
		return func(http.ResponseWriter, *http.Request) error {
			return refusal.New(api.CodeForbidden, "no role may call %s: its route names no action", route.Path)
		}
	}
	if action == auth.Public {
		return next
	}
	enter, stream := a.enter, route.Stream
	if stream {
		enter = a.enterStream
	}
	local := auth.Local()
	return func(w http.ResponseWriter, r *http.Request) error {
		open, err := a.open(r.Context())
		if err != nil {
			return err
		}
		if open {
			during, leave := a.enterOpen(r.Context())
			defer leave()
			call, err := a.take(w, r, use{open: true, principal: auth.LocalPrincipal, stream: stream})
			if err != nil {
				return err
			}
			defer call.done()
			err = next(w, r.WithContext(auth.With(call.within(during), local)))
			if ended(during, r, err) {
				return cutShort(r, func() error { return missing(w) })
			}
			return err
		}
		identity, during, leave, err := enter(w, r)
		if err != nil {
			return err
		}
		defer leave()
		notePrincipal(w, identity.Principal)
		call, err := a.take(w, r, use{principal: identity.Principal, stream: stream})
		if err != nil {
			return err
		}
		defer call.done()
		if err := identity.Check(action); err != nil {
			return err
		}
		if !identity.MayActFor && len(r.Header[ActorHeader]) > 0 {
			w.Header()["Warning"] = actorIgnored
		}
		err = next(w, r.WithContext(auth.With(call.within(during), identity)))
		if ended(during, r, err) {
			return cutShort(r, func() error { return invalid(w, auth.Invalid()) })
		}
		return invalid(w, err) // it may have been revoked before the decision
	}
}

// ended reports whether a call failed because its credential stopped working during the call.
func ended(during context.Context, r *http.Request, err error) bool {
	return err != nil && r.Context().Err() == nil && errors.Is(context.Cause(during), auth.ErrRevoked) && refusal.CodeOf(err) == ""
}

// cutShort returns the error of a call whose credential stopped working during the call: a refusal of a read, and for other
// calls service_unavailable, because they may have taken effect.
func cutShort(r *http.Request, refuse func() error) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return refuse()
	}
	return refusal.New(CodeServiceUnavailable, "the credential of this call stopped working before the reply, and the call may have taken effect")
}

// enterStream is enter for a stream, which also accepts a ticket.
func (a *Access) enterStream(w http.ResponseWriter, r *http.Request) (identity *auth.Identity, during context.Context, leave func(), err error) {
	ticket, given := ticketOf(r)
	if !given {
		return a.enter(w, r)
	}
	identity, during, leave, err = a.Keyring.EnterTicket(r.Context(), ticket, TicketPath(r.URL))
	if err == nil {
		shared, _ := r.Context().Value(enteredKey{}).(*entered)
		shared.set(during, identity)
	}
	return identity, during, leave, invalid(w, err)
}

// mayBeIDToken reports whether a secret has the three parts of a compact JWS, like an ID token and
// unlike a token's secret.
func mayBeIDToken(secret string) bool { return strings.Count(secret, ".") == 2 }

// enter authenticates the caller: by the header, otherwise by the cookie, otherwise by a client
// certificate. The service's own calls for a stream by ticket are the ticket's, whatever cookie its browser sent.
func (a *Access) enter(w http.ResponseWriter, r *http.Request) (identity *auth.Identity, during context.Context, leave func(), err error) {
	shared, _ := r.Context().Value(enteredKey{}).(*entered)
	if known, given := shared.get(); given {
		if known == nil {
			return nil, nil, nil, invalid(w, auth.Invalid())
		}
		return known, r.Context(), func() {}, nil
	}
	signedIn, byCookie := SignedIn(r), len(r.Header["Authorization"]) == 0
	if signedIn == "" {
		secret := bearer(r.Header)
		if secret == "" {
			if certificate := a.certificate(r); certificate != nil {
				return a.enterCertificate(w, r, certificate)
			}
			return nil, nil, nil, missing(w)
		}
		if a.Identify != nil && mayBeIDToken(secret) {
			who, err := a.Identify(r.Context(), secret)
			if err != nil {
				return nil, nil, nil, invalid(w, err)
			}
			identity, during, leave, err = a.Keyring.EnterAssertion(r.Context(), who)
			return identity, during, leave, invalid(w, err)
		}
		identity, during, leave, err = a.Keyring.Enter(r.Context(), secret)
		return identity, during, leave, invalid(w, err)
	}
	// Browsers send a cookie by themselves, but a header only for a page that knows its value.
	if byCookie {
		if err := CheckSameOrigin(r); err != nil {
			return nil, nil, nil, err
		}
	}
	identity, renewed, during, leave, err := a.Keyring.EnterSignIn(r.Context(), signedIn)
	if err == nil && renewed && byCookie {
		setCookie(w, signedIn, auth.SignInLifetimeMs/1000)
	}
	return identity, during, leave, invalid(w, err)
}

// SignIn creates a cookie for a browser that presents a token; "" when no credential is required.
// Errors: unauthenticated, invalid_token, origin_not_allowed, errors of the caller's quota and of the database.
func (a *Access) SignIn(w http.ResponseWriter, r *http.Request) (cookie string, identity *auth.Identity, err error) {
	open, err := a.open(r.Context())
	if err != nil {
		return "", nil, err
	}
	if open {
		return "", auth.Local(), nil
	}
	secret := bearer(r.Header)
	if secret == "" {
		return "", nil, missing(w)
	}
	identity, err = a.Keyring.Authenticate(r.Context(), secret)
	if err != nil {
		return "", nil, invalid(w, err)
	}
	call, err := a.take(w, r, use{principal: identity.Principal})
	if err != nil {
		return "", nil, err
	}
	defer call.done()
	if err := CheckKeeps(r); err != nil {
		return "", nil, err
	}
	cookie, identity, err = a.Keyring.SignIn(r.Context(), secret)
	return cookie, identity, invalid(w, err)
}

// take counts a call against the quotas. A call inside another call of the same caller does not
// count.
func (a *Access) take(w http.ResponseWriter, r *http.Request, u use) (*taken, error) {
	if a == nil || auth.From(r.Context()) != nil {
		return nil, nil
	}
	return a.Quotas.take(w, r, u)
}

func (a *Access) open(ctx context.Context) (bool, error) {
	if a == nil || a.Keyring == nil {
		return true, nil
	}
	return a.Keyring.Open(ctx)
}

// enterOpen counts a call that needs no credential and returns its context.
func (a *Access) enterOpen(ctx context.Context) (during context.Context, leave func()) {
	if a == nil || a.Keyring == nil {
		return ctx, func() {}
	}
	return a.Keyring.EnterOpen(ctx)
}

// missing returns the error for a call without a readable credential, and adds the challenge.
func missing(w http.ResponseWriter) error {
	w.Header()["Www-Authenticate"] = challenge
	return auth.Missing()
}

// invalid adds the challenge to a credential error.
func invalid(w http.ResponseWriter, err error) error {
	if refusal.CodeOf(err) == api.CodeInvalidToken {
		w.Header()["Www-Authenticate"] = refusedToken
	}
	return err
}

// bearer returns the request's bearer token, "" without a readable one.
func bearer(header http.Header) string { return credential(header, "Bearer") }

// credential returns the credential of a scheme, "" without a readable one.
func credential(header http.Header, of string) string {
	values := header["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, secret, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, of) {
		return ""
	}
	return strings.Trim(secret, " ")
}
