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

// reviewTimeout bounds one call of the review hook. It is shorter than the lease that
// an effect is carried out under.
const reviewTimeout = 4 * time.Second

// reviewHook returns a function that posts a file-change approval to a URL, as JSON,
// whenever one was raised; nil without a URL. Any status but 2xx
// has it posted again later.
func reviewHook(address string) (func(context.Context, api.JSON) error, error) {
	if address == "" {
		return nil, nil
	}
	if parsed, err := url.Parse(address); err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, console.Usage("--review-hook must be an http or https URL")
	}
	// A hook that redirects is not the one that was configured.
	caller := &http.Client{Timeout: reviewTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(ctx context.Context, payload api.JSON) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(payload))
		if err != nil {
			return fmt.Errorf("review hook: %w", err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := caller.Do(request)
		if err != nil {
			// The text of an url.Error has the whole URL, whose path and query may be secrets.
			if failed, ok := errors.AsType[*url.Error](err); ok {
				err = failed.Err
			}
			return fmt.Errorf("review hook at %s: %w", request.URL.Host, err)
		}
		defer response.Body.Close()
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
		if response.StatusCode < 200 || response.StatusCode > 299 {
			return fmt.Errorf("review hook: status %d", response.StatusCode)
		}
		return nil
	}, nil
}

// HookHost returns the host of a hook's URL, which is what may be shown of it.
func HookHost(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "hidden"
	}
	return parsed.Scheme + "://" + parsed.Host + "/…"
}
