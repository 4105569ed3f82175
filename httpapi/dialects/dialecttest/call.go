package dialecttest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// Option modifies a request.
type Option func(*http.Request)

// Header sets a header.
func Header(name, value string) Option {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// Send sends a request with a JSON body ("" for none) and returns the unread response.
func (s *Service) Send(ctx context.Context, client *http.Client, method, path, body string, options ...Option) (*http.Response, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.Server.URL+path, reader)
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, apply := range options {
		apply(request)
	}
	return client.Do(request)
}

// Reply is a complete response. Body is its decoded JSON, nil for other text. Text has no final
// newline.
type Reply struct {
	T      *testing.T
	Status int
	Header http.Header
	Text   string
	Body   any
}

// Do sends a request and returns the reply.
func (s *Service) Do(t *testing.T, method, path, body string, options ...Option) *Reply {
	t.Helper()
	reply, err := s.Try(t, method, path, body, options...)
	require.NoError(t, err)
	return reply
}

// Try is Do for goroutines of a test: it returns an error.
func (s *Service) Try(t *testing.T, method, path, body string, options ...Option) (*Reply, error) {
	t.Helper()
	response, err := s.Send(t.Context(), s.Client, method, path, body, options...)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	reply := &Reply{T: t, Status: response.StatusCode, Header: response.Header, Text: strings.TrimSuffix(string(text), "\n")}
	_ = json.Unmarshal(text, &reply.Body)
	return reply, err
}

// Get sends a GET.
func (s *Service) Get(t *testing.T, path string, options ...Option) *Reply {
	t.Helper()
	return s.Do(t, http.MethodGet, path, "", options...)
}

// Post sends a POST.
func (s *Service) Post(t *testing.T, path, body string, options ...Option) *Reply {
	t.Helper()
	return s.Do(t, http.MethodPost, path, body, options...)
}

// Is checks the status and the whole body, byte for byte.
func (r *Reply) Is(status int, body string) *Reply {
	r.T.Helper()
	require.Equal(r.T, body, r.Text)
	return r.Want(status)
}

// Want checks the status.
func (r *Reply) Want(status int) *Reply {
	r.T.Helper()
	require.Equal(r.T, status, r.Status, "%s", r.Text)
	return r
}

// Into checks for success and decodes the body unless value is nil.
func (r *Reply) Into(value any) {
	r.T.Helper()
	require.Less(r.T, r.Status, 300, "%s", r.Text)
	if value != nil {
		require.NoError(r.T, json.Unmarshal([]byte(r.Text), value), "%s", r.Text)
	}
}

// At returns the value at a path of names and indexes, or nil.
func (r *Reply) At(path ...any) any { return At(r.Body, path...) }

// At returns the value at a path of names and indexes, or nil.
func At(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			array, _ := value.([]any)
			if step >= len(array) {
				return nil
			}
			value = array[step]
		}
	}
	return value
}

// TextAt returns the string at a path, which must exist.
func (r *Reply) TextAt(path ...any) string {
	r.T.Helper()
	found, ok := r.At(path...).(string)
	require.True(r.T, ok, "%v in %s", path, r.Text)
	return found
}

// Count returns the length of the array at a path, which must exist.
func (r *Reply) Count(path ...any) int {
	r.T.Helper()
	list, ok := r.At(path...).([]any)
	require.True(r.T, ok, "%v in %s", path, r.Text)
	return len(list)
}
