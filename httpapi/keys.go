package httpapi

import (
	"net/http"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// showKeys answers with the public keys of what the service signs. Whoever has something that was
// signed may read them, without a credential.
func (s *Server) showKeys(w http.ResponseWriter, r *http.Request) error {
	if s.signing == nil {
		return refusal.New(wire.CodeServiceUnavailable, "this service signs nothing")
	}
	keys, err := s.signing.Public(r.Context())
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, keys)
}
