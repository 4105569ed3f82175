package httpapi

import (
	"net/http"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// showKeys answers with the public signing keys. It needs no credential, so that anyone can verify
// a signature.
func (g *grants) showKeys(w http.ResponseWriter, r *http.Request) error {
	if g.keys == nil {
		return refusal.New(wire.CodeServiceUnavailable, "this service signs nothing")
	}
	keys, err := g.keys.Public(r.Context())
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, keys)
}
