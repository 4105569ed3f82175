package wire

import (
	"context"
	"crypto/x509"
	"net/http"

	"github.com/holdpoint/holdpoint/auth"
)

// certificate returns the client certificate of a call that shows nothing else; nil without one that
// was verified.
func (a *Access) certificate(r *http.Request) *x509.Certificate {
	if !a.Certificates || len(r.Header["Authorization"]) > 0 || r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}

// enterCertificate is enter for an agent with a client certificate. A browser that has one sends it
// by itself, as it does a cookie, so what comes from a page must come from one of the service.
func (a *Access) enterCertificate(w http.ResponseWriter, r *http.Request, certificate *x509.Certificate) (identity *auth.Identity, during context.Context, leave func(), err error) {
	if len(r.Header["Origin"])+len(r.Header["Sec-Fetch-Site"]) > 0 {
		if err := checkSameOrigin(r); err != nil {
			return nil, nil, nil, err
		}
	}
	who, err := auth.OfCertificate(certificate)
	if err != nil {
		return nil, nil, nil, invalid(w, err)
	}
	identity, during, leave, err = a.Keyring.EnterAssertion(r.Context(), who)
	return identity, during, leave, invalid(w, err)
}
