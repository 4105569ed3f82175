package faces

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
)

// Service is a running service with all its APIs.
type Service struct {
	URL  string
	HTTP *http.Client
}

// Reply is a reply to a call. Body has no final newline.
type Reply struct {
	Status int
	Body   string
	Header http.Header
}

// Option modifies a request.
type Option func(*http.Request)

// As sets the caller's name.
func As(name string) Option { return func(r *http.Request) { r.Header.Set("X-Actor", name) } }

// Call sends a request and returns the reply. body is JSON text, or "" for none.
func (s *Service) Call(ctx context.Context, method, path, body string, options ...Option) (Reply, error) {
	response, err := s.open(ctx, method, path, body, options...)
	if err != nil {
		return Reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return Reply{response.StatusCode, strings.TrimSuffix(string(text), "\n"), response.Header}, err
}

// Get sends a GET.
func (s *Service) Get(ctx context.Context, path string) (Reply, error) {
	return s.Call(ctx, http.MethodGet, path, "")
}

// Post sends a POST.
func (s *Service) Post(ctx context.Context, path, body string, options ...Option) (Reply, error) {
	return s.Call(ctx, http.MethodPost, path, body, options...)
}

// open sends a request and returns its response with the body unread.
func (s *Service) open(ctx context.Context, method, path, body string, options ...Option) (*http.Response, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, reader)
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, apply := range options {
		apply(request)
	}
	return s.HTTP.Do(request)
}

// Into decodes the body of a success. For other replies, the error has the reply.
func (r Reply) Into(value any) error {
	if r.Status >= http.StatusMultipleChoices {
		return fmt.Errorf("refused: %d %s", r.Status, r.Body)
	}
	return json.Unmarshal([]byte(r.Body), value)
}

// read gets a document.
func (s *Service) read(ctx context.Context, path string, into any) error {
	reply, err := s.Get(ctx, path)
	if err != nil {
		return err
	}
	return reply.Into(into)
}

// write posts a body and decodes the reply.
func (s *Service) write(ctx context.Context, path, body string, into any) error {
	reply, err := s.Post(ctx, path, body)
	if err != nil {
		return err
	}
	return reply.Into(into)
}

// encode encodes a value.
func encode(value any) string {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		panic("faces: a body has no JSON form: " + err.Error())
	}
	return string(text)
}
