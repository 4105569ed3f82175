package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
)

// AuditExportParams choose what of the audit is exported.
type AuditExportParams struct {
	SessionID string // of all sessions when empty
	SinceMs   int64  // from the beginning when 0
}

// ExportAudit writes an export of the audit, lines of JSON. It is not repeated and has no deadline but
// that of ctx. When it fails, what was written has no last line, and is found to be cut off. Errors:
// [ErrNotFound]; [ErrForbidden]; that of the writer.
func (c *Client) ExportAudit(ctx context.Context, params AuditExportParams, to io.Writer) error {
	query := url.Values{}
	if params.SessionID != "" {
		query.Set("session_id", params.SessionID)
	}
	if params.SinceMs > 0 {
		query.Set("since_ms", strconv.FormatInt(params.SinceMs, 10))
	}
	of := call{method: http.MethodGet, path: at("/v1/audit/export")}
	request, err := http.NewRequestWithContext(ctx, of.method, c.baseURL+of.path.text+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, of, err)
	}
	c.head(ctx, request.Header)
	response, err := c.http.Do(request)
	if err != nil {
		return broken(ctx, of, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, MaxReplyBytes))
		if err != nil {
			return broken(ctx, of, err)
		}
		return problem(response, text)
	}
	if _, err := io.Copy(to, response.Body); err != nil {
		return broken(ctx, of, err)
	}
	return nil
}

// Redact takes out bodies of events of a session. It may be repeated. Errors: [ErrNotFound]; [ErrInvalid];
// [ErrForbidden]; [ErrStateConflict] with code event_needed.
func (c *Client) Redact(ctx context.Context, sessionID string, body api.RedactBody) (*api.RedactReply, error) {
	return post[api.RedactReply](ctx, c, at("/v1/sessions", sessionID, "redact"), body, always)
}

// AuditListParams choose a page of the audit's own log.
type AuditListParams struct {
	Limit  int    // the service's when 0
	Cursor string // of the page before
}

// ListAudit returns a page of the audit's own log, oldest first. Errors: [ErrForbidden].
func (c *Client) ListAudit(ctx context.Context, params AuditListParams) (*api.AuditList, error) {
	query := url.Values{}
	if params.Limit > 0 {
		query.Set("limit", strconv.Itoa(params.Limit))
	}
	if params.Cursor != "" {
		query.Set("cursor", params.Cursor)
	}
	return get[api.AuditList](ctx, c, at("/v1/audit"), query)
}

// Keys returns the public keys of what the service signs. It takes no token.
func (c *Client) Keys(ctx context.Context) (*api.KeySet, error) {
	return get[api.KeySet](ctx, c, at("/v1/keys"), nil)
}
