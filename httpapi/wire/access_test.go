package wire

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth"
)

// endsWhenSeen is a context that ends right after its first check.
type endsWhenSeen struct {
	context.Context //nolint:containedctx // it is one
	seen            bool
}

func (e *endsWhenSeen) Err() error {
	if e.seen {
		return context.Canceled
	}
	e.seen = true
	return nil
}

// A ticket's credential that ends while the stream's own call enters is refused or has an identity. The cookie of the
// browser, which may be of another sign-in, does not count.
func TestACallEntersWithAnIdentityOrAnError(t *testing.T) {
	t.Parallel()
	shared := &entered{}
	shared.set(&endsWhenSeen{Context: t.Context()}, auth.Local())
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), enteredKey{}, shared), http.MethodGet, "/", nil)
	r.Header.Set("Cookie", signedInCookie+"=other")
	enter := func() (*auth.Identity, error) {
		identity, _, _, err := (&Access{}).enter(httptest.NewRecorder(), r)
		return identity, err
	}
	identity, err := enter()
	require.NoError(t, err)
	require.Equal(t, auth.Local(), identity)
	_, err = enter()
	require.Error(t, err)
}
