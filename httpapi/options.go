package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	dialect "github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/v1/hooks"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// Limits are limits for one request. 0 means the default.
type Limits struct {
	// MaxBodyBytes is the maximum size of a request body; default 1 MiB.
	MaxBodyBytes int64
	// MaxWait is the longest time a reply is held; default 60 s, which is also the maximum of the
	// API.
	MaxWait time.Duration
	// InputWait is how long POST /v1/sessions/{session_id}/input is held without a preference;
	// default 30 s.
	InputWait time.Duration
	// MaxStreams is the maximum number of open streams; default 20,000.
	MaxStreams int
	// Quota limits one principal's use of the process; see [wire.Quota] for its defaults. A service
	// that requires no credentials applies only the limits that are set: rate and calls for each
	// connection, the others for all callers together.
	Quota wire.Quota
	// Patience is how long a call beyond a quota waits before it is refused: 0 means
	// wire.DefaultPatience, negative means no wait.
	Patience time.Duration
}

// Defaults of [Limits] and [Options].
const (
	DefaultMaxWait      = 60 * time.Second
	DefaultInputWait    = 30 * time.Second
	DefaultPollInterval = time.Second
	// ReservedBytes is the part of the database's disk that is reserved for decisions,
	// cancellations and ends.
	ReservedBytes = 64 << 20
	// DefaultStreamWriteTimeout is the default of Options.StreamWriteTimeout.
	DefaultStreamWriteTimeout = 10 * time.Second
)

// Options configure a [Server]. Store, Hub and Claims are required.
type Options struct {
	Store  runs.Store
	Hub    *watch.Hub
	Claims *claims.Dispatcher
	// Version is shown at /version; "dev" when empty.
	Version string
	// Logger receives a line for each request that failed in the service, and every request at
	// debug level. Nil discards them.
	Logger *slog.Logger
	Limits Limits
	// Hosts are the host names that callers may use, in addition to localhost and IP addresses; "*"
	// allows all. Origins are the web origins, in addition to the service's own, whose pages may
	// call it and read the replies; "*" allows all, without credentials. See wire.Guard.
	Hosts   []string
	Origins []string
	// PollInterval is how often held replies and session streams poll without a notice; default 1
	// s.
	PollInterval time.Duration
	// KeepAlive is the silence after which a stream gets a comment; default 5 s.
	KeepAlive time.Duration
	// StreamWriteTimeout is how long a stream's reader may block before its connection is closed;
	// default 10 s.
	StreamWriteTimeout time.Duration
	// MaxRuleAge is the longest lifetime of a rule; 0 for no maximum.
	MaxRuleAge time.Duration
	// Pages serves the web pages; nil for none. See package web.
	Pages Pages
	// Reviewed reports whether a new approval is posted to the review hook. Nil means none is.
	Reviewed func(*api.ApprovalRequest) bool
	// Keyring authenticates callers. With nil no credential is required, and every caller may do
	// everything.
	Keyring *auth.Keyring
	// Backlogs counts pending work for the limits of open prompts and queued runs. Nil for no
	// limits.
	Backlogs wire.BacklogReader
	// Signing signs grants and exports. Nil generates a temporary key, for programs that embed the
	// service.
	Signing *signing.Keys
	// Issuer is the "iss" of grants, the service's URL; "holdpoint" when empty.
	Issuer string
	// Checkpoints are included in audit exports; nil for none.
	Checkpoints audit.CheckpointRows
	// Redactor removes event bodies; nil disables it.
	Redactor upkeep.Redactor
	// Journal is the audit log; nil for none.
	Journal journal.Rows
	// Sealer encrypts sensitive values. Without one they are refused.
	Sealer runs.Sealer
	// Webhooks serves the webhook routes; nil disables webhooks.
	Webhooks *hooks.Service
	// Notify tells people of what they may decide; nil where no addresses are kept.
	Notify *notify.Service
	// OIDC is the OpenID Connect issuer; nil for none.
	OIDC *oidc.Provider
	// ClientCertificates says that the listener verifies client certificates, which agents may use
	// as credentials.
	ClientCertificates bool
	// Observer receives each call; nil for none.
	Observer wire.Observer
	// Tracer creates the spans of calls; nil for none.
	Tracer wire.Tracer
	// LogRequests logs each call at level INFO instead of DEBUG.
	LogRequests bool
	// OpenAPIYAML and OpenAPIJSON are served at /openapi.yaml and /openapi.json; nil for nothing.
	OpenAPIYAML, OpenAPIJSON []byte
	// Faces are the wire contracts to serve next to /v1.
	Faces []dialect.Mount
}

// Pages serves web pages in front of the API.
type Pages interface {
	// Wrap returns a handler that serves the pages and passes other requests on.
	Wrap(api http.Handler) http.Handler
	// IsPage reports whether a request is for a page, which other sites may link to.
	IsPage(r *http.Request) bool
	// Missing answers a browser that opens an address where nothing is. It returns false if the API
	// answers.
	Missing(w http.ResponseWriter, r *http.Request) bool
}

// setDefaults replaces each missing option by its default.
func (o *Options) setDefaults() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Limits.MaxBodyBytes = cmp.Or(o.Limits.MaxBodyBytes, wire.DefaultMaxBodyBytes)
	o.Limits.MaxWait = min(cmp.Or(o.Limits.MaxWait, DefaultMaxWait), DefaultMaxWait)
	o.Limits.InputWait = cmp.Or(o.Limits.InputWait, DefaultInputWait)
	o.Limits.Patience = cmp.Or(o.Limits.Patience, wire.DefaultPatience)
	o.PollInterval = cmp.Or(o.PollInterval, DefaultPollInterval)
	o.KeepAlive = cmp.Or(o.KeepAlive, stream.DefaultKeepAlive)
	o.StreamWriteTimeout = cmp.Or(o.StreamWriteTimeout, DefaultStreamWriteTimeout)
	o.Version = cmp.Or(o.Version, "dev")
}

// defaultIssuer is the "iss" of grants without an external URL.
const defaultIssuer = "holdpoint"

// GrantIssuer returns the "iss" of grants for an external URL.
func GrantIssuer(externalURL string) string {
	return cmp.Or(strings.TrimSuffix(externalURL, "/"), defaultIssuer)
}

// viewers returns what reads who has which requests open, or nil.
func (o *Options) viewers() func(ctx context.Context, nowMs int64) ([]reads.Viewer, error) {
	if o.Notify == nil {
		return nil
	}
	return o.Notify.Viewers
}
