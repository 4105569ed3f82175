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

// Access holds every call of every face to the table of package auth: it finds out who is
// asking, and whether the role may call the route. A nil one asks for no credential.
type Access struct{ Keyring *auth.Keyring }

// challenge tells what a call needs that has no credential, and refusedToken what was wrong
// with the one that it has.
var (
	challenge    = []string{`Bearer realm="holdpoint"`}
	refusedToken = []string{`Bearer realm="holdpoint", error="invalid_token"`}
	actorIgnored = []string{`299 holdpoint "X-Actor was ignored: this token may not act for others"`}
)

// Guard returns a handler that calls next for those who may call the route, with their
// identity in the context of the request (see [auth.From]). The others get an error:
// unauthenticated, invalid_token, forbidden, or that of the database. When the token of a
// call is revoked while the call goes on, its context ends.
func (a *Access) Guard(method, path string, next HandlerFunc) HandlerFunc {
	action := auth.ActionOf(method, path)
	if action == "" {
		return func(http.ResponseWriter, *http.Request) error {
			return refusal.New(api.CodeForbidden, "no role may call %s %s: it is not in the table of routes", method, path)
		}
	}
	if action == auth.Public {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		open, err := a.open(r.Context())
		if err != nil {
			return err
		}
		if open {
			return next(w, r.WithContext(auth.With(r.Context(), auth.Local())))
		}
		secret := bearer(r.Header)
		if secret == "" {
			w.Header()["Www-Authenticate"] = challenge
			return auth.Missing()
		}
		identity, during, leave, err := a.Keyring.Enter(r.Context(), secret)
		if err != nil {
			return invalid(w, err)
		}
		defer leave()
		notePrincipal(w, identity.Principal)
		if err := identity.Check(action); err != nil {
			return err
		}
		if !identity.MayActFor && len(r.Header[ActorHeader]) > 0 {
			w.Header()["Warning"] = actorIgnored
		}
		err = next(w, r.WithContext(auth.With(during, identity)))
		if err != nil && r.Context().Err() == nil && errors.Is(context.Cause(during), auth.ErrRevoked) && refusal.CodeOf(err) == "" {
			return invalid(w, auth.Invalid())
		}
		return err
	}
}

func (a *Access) open(ctx context.Context) (bool, error) {
	if a == nil || a.Keyring == nil {
		return true, nil
	}
	return a.Keyring.Open(ctx)
}

// invalid adds the challenge to the refusal of a credential.
func invalid(w http.ResponseWriter, err error) error {
	if refusal.CodeOf(err) == api.CodeInvalidToken {
		w.Header()["Www-Authenticate"] = refusedToken
	}
	return err
}

// bearer returns the credential of a request, "" when it has none that can be read.
func bearer(header http.Header) string {
	values := header["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, secret, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(secret, " ")
}
