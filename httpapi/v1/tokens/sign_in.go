package tokens

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// signIn exchanges a token for a cookie or, on a loopback address, for a secret. Without required
// credentials there is nothing to sign in to.
func (i *identities) signIn(w http.ResponseWriter, r *http.Request) error {
	cookie, identity, err := i.access.SignIn(w, r)
	if err != nil {
		return err
	}
	reply := api.SignIn{Me: identity.Me()}
	if cookie != "" {
		reply.Session = wire.SetSignedIn(w, r, cookie)
	}
	return wire.Respond(w, r, http.StatusOK, reply)
}

// signOut ends a browser's sign-in. It has no effect on a token.
func (i *identities) signOut(w http.ResponseWriter, r *http.Request) error {
	if identity := auth.From(r.Context()); identity.Via == auth.ViaSession {
		if err := i.access.Keyring.SignOut(r.Context(), wire.SignedIn(r)); err != nil {
			return err
		}
	}
	wire.ClearSignedIn(w, r)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
