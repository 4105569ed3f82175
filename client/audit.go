package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
)

// AuditExportParams select the sessions and events to export.
type AuditExportParams struct {
	SessionID string // all sessions if empty
	SinceMs   int64  // from the beginning if 0
}

// ExportAudit writes an export of the audit log as lines of JSON. It is not retried and has
// no deadline except ctx. If it fails, the output lacks its last line, which shows
// that it is incomplete. Errors: [ErrNotFound]; [ErrForbidden]; any error of the writer.
func (c *Client) ExportAudit(ctx context.Context, params AuditExportParams, to io.Writer) error {
	export := call{method: http.MethodGet, path: at("/v1/audit/export"), query: url.Values{}}
	if params.SessionID != "" {
		export.query.Set("session_id", params.SessionID)
	}
	if params.SinceMs > 0 {
		export.query.Set("since_ms", strconv.FormatInt(params.SinceMs, 10))
	}
	response, err := c.open(ctx, export, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(to, response.Body); err != nil {
		return broken(ctx, export, err, false)
	}
	return nil
}

// Redact permanently removes contents of events from a session. It may be repeated. Errors:
// [ErrNotFound]; [ErrInvalid]; [ErrForbidden]; [ErrConflict] with code event_needed.
func (c *Client) Redact(ctx context.Context, sessionID string, body api.RedactBody) (*api.RedactReply, error) {
	return post[api.RedactReply](ctx, c, at("/v1/sessions", sessionID, "redact"), body, always, "redacted")
}

// AuditListParams select a page of the audit log's own entries.
type AuditListParams struct {
	Limit  int    // the service's default if 0
	Cursor string // of the previous page
}

// ListAudit returns a page of the audit log's own entries, oldest first. Errors:
// [ErrForbidden].
func (c *Client) ListAudit(ctx context.Context, params AuditListParams) (*api.AuditList, error) {
	query := url.Values{}
	PageParams(params).addTo(query)
	return get[api.AuditList](ctx, c, at("/v1/audit"), query, "data")
}

// Keys returns the public keys of the service's signatures. It needs no token.
func (c *Client) Keys(ctx context.Context) (*api.KeySet, error) {
	return get[api.KeySet](ctx, c, at("/v1/keys"), nil, "keys")
}
