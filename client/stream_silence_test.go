package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
)

// fallsSilent is a transport to a service that sends each of its replies and nothing after it, and no
// reply at all for an empty one. Its connections stay open.
type fallsSilent struct{ replies []string }

func (s *fallsSilent) RoundTrip(r *http.Request) (*http.Response, error) {
	reply := s.replies[0]
	s.replies = s.replies[1:]
	silence := readFunc(func([]byte) (int, error) {
		<-r.Context().Done()
		return 0, context.Cause(r.Context())
	})
	if reply == "" {
		_, err := silence.Read(nil)
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(io.MultiReader(strings.NewReader(reply), silence)), Request: r}, nil
}

type readFunc func(to []byte) (int, error)

func (f readFunc) Read(to []byte) (int, error) { return f(to) }

// A silent connection is a lost one: its end is not the end of the caller's context.
func TestStreamGoesOnAfterSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		follow := func(replies ...string) ([]string, error) {
			c, err := client.New("http://service.test", client.WithHTTPClient(&http.Client{Transport: &fallsSilent{replies}}),
				client.WithRetry(client.RetryPolicy{MaxAttempts: 2}))
			require.NoError(t, err)
			return readItems(c.StreamSession(t.Context(), "s", ""), 2)
		}
		list, err := follow("", sessionAt2, "", event(3, "x"))
		require.NoError(t, err)
		require.Equal(t, []string{"session 2", "3"}, list)

		_, err = follow("", "")
		require.ErrorIs(t, err, client.ErrUnavailable)
	})
}
