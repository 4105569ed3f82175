package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// Limits of on-call sources.
const (
	maxSources = 32
	// onCallTimeout bounds one question, and maxOnCallBytes its answer.
	onCallTimeout  = 2 * time.Second
	maxOnCallBytes = 64 << 10
	// onCallKept is how long an answer counts at most, onCallLeast at least, and onCallRetry how long a
	// source is not asked again after it failed.
	onCallKept  = 15 * time.Minute
	onCallLeast = time.Second
	onCallRetry = 10 * time.Second
)

// onCall is an on-call source in the file.
type onCall struct {
	URL         string            `yaml:"url"`
	Headers     map[string]string `yaml:"headers"`
	SecretFiles map[string]string `yaml:"secret_files"`
}

// onCall returns the on-call sources, by name.
func (f *file) onCall(folder string, client *egress.Client) (map[string]notify.OnCall, error) {
	if len(f.OnCall) > maxSources {
		return nil, fmt.Errorf("oncall must have at most %d entries", maxSources)
	}
	made := make(map[string]notify.OnCall, len(f.OnCall))
	for name, settings := range f.OnCall {
		if err := checkName("oncall", name); err != nil {
			return nil, err
		}
		request, err := (&channel{URL: settings.URL, Headers: settings.Headers, SecretFiles: settings.SecretFiles}).http(folder, client)
		if err != nil {
			return nil, fmt.Errorf("oncall %s: %w", name, err)
		}
		made[name] = &source{request: request, now: time.Now, timeout: onCallTimeout} //nolint:forbidigo // For how long an answer is kept; nothing is decided by it.
	}
	return made, nil
}

// source is a [notify.OnCall] that asks by an HTTP GET.
type source struct {
	request *httpChannel
	now     func() time.Time
	timeout time.Duration

	mu     sync.Mutex
	people []string
	err    error
	// until is when people or err stop counting.
	until time.Time
}

// People implements [notify.OnCall]. Concurrent callers wait for one question.
func (s *source) People(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Before(s.until) {
		return s.people, s.err
	}
	people, untilMs, err := s.ask(ctx)
	now := s.now()
	if s.err = err; err != nil {
		s.until = now.Add(onCallRetry)
		return s.people, err
	}
	s.people, s.until = people, now.Add(onCallKept)
	if untilMs != 0 {
		left := min(max(untilMs-now.UnixMilli(), onCallLeast.Milliseconds()), onCallKept.Milliseconds())
		s.until = now.Add(time.Duration(left) * time.Millisecond)
	}
	return people, nil
}

func (s *source) ask(ctx context.Context) (people []string, untilMs int64, err error) {
	// The answer serves other callers too, so this caller's end does not end the question.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	to, header, _, err := s.request.request("", s.request.body, &notify.Message{})
	if err != nil {
		return nil, 0, errors.New("the templates of the source cannot be filled in")
	}
	header.Del(idempotencyKey)
	header.Set("Accept", "application/json")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, to, http.NoBody)
	if err != nil {
		return nil, 0, errors.New("the URL cannot be called")
	}
	request.Header = header
	response, err := s.request.client.Do(request)
	switch {
	case errors.Is(err, egress.ErrRefused) || errors.Is(err, egress.ErrPlain):
		return nil, 0, refusedCall("the address may not be called", err)
	case err != nil:
		return nil, 0, err
	case response.StatusCode != http.StatusOK:
		return nil, 0, fmt.Errorf("status %d", response.StatusCode)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, 0, err
	case len(body) > maxOnCallBytes:
		return nil, 0, fmt.Errorf("the answer is longer than %d bytes", maxOnCallBytes)
	}
	var answer struct {
		People  *[]string `json:"people"`
		UntilMs int64     `json:"until_ms"`
	}
	// An answer without people, such as {"error": "maintenance"}, does not say that nobody is on call.
	if json.Unmarshal(body, &answer) != nil || answer.People == nil {
		return nil, 0, errors.New(`the answer is not {"people": ["user:NAME"], "until_ms": 0}`)
	}
	if len(*answer.People) > api.MaxSelectors {
		return nil, 0, fmt.Errorf("the answer names more than %d people", api.MaxSelectors)
	}
	for _, who := range *answer.People {
		if name, is := strings.CutPrefix(who, runs.SelectUser); !is || strings.TrimSpace(name) == "" || len(who) > api.MaxSelectorLength || strings.ContainsFunc(who, unicode.IsControl) {
			return nil, 0, errors.New("the answer names somebody who is not user:NAME")
		}
	}
	return slices.Compact(*answer.People), answer.UntilMs, nil
}
