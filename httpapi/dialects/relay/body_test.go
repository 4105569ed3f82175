package relay

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
)

// A large body waits for its slot before it is parsed, a small one does not.
func TestALargeBodyIsParsedInASlot(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	f := &face{Dialect: kit.Dialect{Services: kit.Services{MaxBodyBytes: 1 << 20}}}
	post := func(bytes int) error {
		body := `{"x":"` + strings.Repeat("x", bytes) + `"}`
		_, err := f.readObject(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodPost, "/", strings.NewReader(body)))
		return err
	}
	require.NoError(t, post(1))
	require.ErrorIs(t, post(cpulimit.Bytes), context.Canceled)
}

// A large response waits for a slot too.
func TestALargeResponseIsReadInASlot(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(t.Context())
	leave()
	read := func(bytes int) error {
		_, err := readAnswer(gone, api.JSON(`{"approved":true,"x":"`+strings.Repeat("x", bytes)+`"}`))
		return err
	}
	require.NoError(t, read(1))
	require.ErrorIs(t, read(cpulimit.Bytes), context.Canceled)
}
