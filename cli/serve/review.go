package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// reviewTimeout bounds one call of the review hook. It is shorter than the lease of an
// effect.
const reviewTimeout = 4 * time.Second

// reviewHook returns a function that posts each file-change approval to a URL as JSON; nil
// without a URL. The call is repeated after any status but 2xx.
func reviewHook(address string) (func(context.Context, api.JSON) error, error) {
	if address == "" {
		return nil, nil
	}
	if parsed, err := url.Parse(address); err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, console.Usage("--review-hook must be an http or https URL")
	}
	// A redirect would lead to a server that was not configured.
	caller := &http.Client{Timeout: reviewTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context, payload api.JSON) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(payload))
		if err != nil {
			return fmt.Errorf("review hook: %w", err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := caller.Do(request)
		if err != nil {
			// The text of a url.Error has the whole URL, whose path and query may be
			// secrets.
			if failed, ok := errors.AsType[*url.Error](err); ok {
				err = failed.Err
			}
			return fmt.Errorf("review hook at %s: %w", request.URL.Host, err)
		}
		defer response.Body.Close()
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be reused
		if response.StatusCode < 200 || response.StatusCode > 299 {
			return fmt.Errorf("review hook: status %d", response.StatusCode)
		}
		return nil
	}, nil
}

// HookHost returns the host of a hook's URL, the only part that may be shown.
func HookHost(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "hidden"
	}
	return parsed.Scheme + "://" + parsed.Host + "/…"
}
