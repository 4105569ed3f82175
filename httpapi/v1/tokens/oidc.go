package tokens

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// issuer returns the OpenID Connect issuer. Errors: no_issuer.
func (i *identities) issuer() (*oidc.Provider, error) {
	if i.oidc == nil {
		return nil, refusal.New(api.CodeNoIssuer, "this service has no OpenID Connect issuer: sign in with a token")
	}
	return i.oidc, nil
}

// showIssuer tells a page whether people can sign in with an issuer.
func (i *identities) showIssuer(w http.ResponseWriter, r *http.Request) error {
	if i.oidc == nil {
		return wire.Respond(w, r, http.StatusOK, api.Issuer{})
	}
	return wire.Respond(w, r, http.StatusOK, api.Issuer{Name: i.oidc.Name(), StartPath: oidc.StartPath})
}

func (i *identities) startSignIn(w http.ResponseWriter, r *http.Request) error {
	issuer, err := i.issuer()
	if err != nil {
		return err
	}
	return issuer.Start(w, r)
}

func (i *identities) endSignIn(w http.ResponseWriter, r *http.Request) error {
	issuer, err := i.issuer()
	if err != nil {
		return err
	}
	if i.access.Keyring == nil {
		return errNoKeyring
	}
	who, returnTo, err := issuer.Callback(w, r)
	if err != nil {
		return err
	}
	if err := wire.CheckKeeps(r); err != nil {
		return err
	}
	cookie, _, err := i.access.Keyring.SignInByIssuer(r.Context(), who)
	if refusal.CodeOf(err) == api.CodeInvalidToken {
		return refusal.New(api.CodeSignInFailed, "an admin has signed this identity out: sign in again at %s", oidc.StartPath)
	}
	if err != nil {
		return err
	}
	return oidc.Onward(w, r, returnTo, wire.SetSignedIn(w, r, cookie))
}
