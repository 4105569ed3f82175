package wire

import (
	"context"
	"crypto/x509"
	"net/http"

	"github.com/holdpoint/holdpoint/auth"
)

// certificate returns the verified client certificate of a call without another credential, or nil.
func (a *Access) certificate(r *http.Request) *x509.Certificate {
	if !a.Certificates || len(r.Header["Authorization"]) > 0 || r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}

// enterCertificate is enter for an agent with a client certificate. Browsers send certificates by
// themselves, like cookies, so a page's call must come from a page of the service.
func (a *Access) enterCertificate(w http.ResponseWriter, r *http.Request, certificate *x509.Certificate) (identity *auth.Identity, during context.Context, leave func(), err error) {
	if len(r.Header["Origin"])+len(r.Header["Sec-Fetch-Site"]) > 0 {
		if err := CheckSameOrigin(r); err != nil {
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
