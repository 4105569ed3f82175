// Package serve holds the command that runs the service: it opens a database, starts the
// loops, and serves HTTP until a signal ends it. It must not know SQL, or decide anything about runs.
package serve

import (
	"log/slog"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/cli/database"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store"
)

// Command runs the service until a signal ends it.
type Command struct {
	database.Flag
	Listen               string        `default:"127.0.0.1:4000" from:"HOLDPOINT_LISTEN" placeholder:"HOST:PORT" help:"Address to listen on, or unix:PATH for a socket that only its owner can use; port 0 picks a free port (default ${default}; $$HOLDPOINT_LISTEN)."`
	Config               string        `placeholder:"PATH" help:"Configuration file, a JSON object of flags; flags and environment variables take precedence ($$HOLDPOINT_CONFIG)."`
	TLSCert              string        `name:"tls-cert" from:"HOLDPOINT_TLS_CERT" placeholder:"PATH" help:"Serve HTTPS with this certificate chain (PEM); reloaded on SIGHUP ($$HOLDPOINT_TLS_CERT)."`
	TLSKey               string        `name:"tls-key" from:"HOLDPOINT_TLS_KEY" placeholder:"PATH" help:"Private key of --tls-cert (PEM; $$HOLDPOINT_TLS_KEY)."`
	ClientCA             string        `name:"client-ca" from:"HOLDPOINT_CLIENT_CA" placeholder:"PATH" help:"Accept client certificates signed by these CAs (PEM) as agents, named by the certificate; reloaded on SIGHUP ($$HOLDPOINT_CLIENT_CA)."`
	SigningKeyFile       string        `from:"HOLDPOINT_SIGNING_KEY_FILE" placeholder:"PATH" help:"Sign with the first Ed25519 key in this file (PEM), created if missing (default: next to the SQLite file, with .signing-key appended; otherwise a key that only this process has; $$HOLDPOINT_SIGNING_KEY_FILE)."`
	PushKeyFile          string        `from:"HOLDPOINT_PUSH_KEY_FILE" placeholder:"PATH" help:"P-256 key (PEM) for notifications in browsers, created if missing (default: next to the SQLite file, with .push-key appended; otherwise no such notifications; $$HOLDPOINT_PUSH_KEY_FILE)."`
	AdminAddr            string        `from:"HOLDPOINT_ADMIN_ADDR" placeholder:"HOST:PORT" help:"Address for Prometheus metrics, and for profiles (from this machine only); off by default ($$HOLDPOINT_ADMIN_ADDR)."`
	OTLPEndpoint         string        `name:"otlp-endpoint" from:"OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"URL" help:"OpenTelemetry collector for traces (OTLP over HTTP); off by default ($$OTEL_EXPORTER_OTLP_ENDPOINT)."`
	ListenFile           string        `placeholder:"PATH" help:"Write the URL to this file when the service is ready, for scripts."`
	Auth                 string        `enum:"auto,required,none" default:"auto" from:"HOLDPOINT_AUTH" help:"Require tokens: auto (once a token exists, and always if other machines can reach the service), required or none (default ${default}; $$HOLDPOINT_AUTH)."`
	OIDCIssuer           string        `name:"oidc-issuer" from:"HOLDPOINT_OIDC_ISSUER" placeholder:"URL" help:"OpenID Connect issuer for people's sign-in and for machines' ID tokens ($$HOLDPOINT_OIDC_ISSUER)."`
	OIDCClientID         string        `name:"oidc-client-id" from:"HOLDPOINT_OIDC_CLIENT_ID" placeholder:"ID" help:"Client id at the issuer, and the required audience of ID tokens ($$HOLDPOINT_OIDC_CLIENT_ID)."`
	OIDCClientSecretFile string        `name:"oidc-client-secret-file" from:"HOLDPOINT_OIDC_CLIENT_SECRET_FILE" placeholder:"PATH" help:"File with the client secret (default: the secret in $$HOLDPOINT_OIDC_CLIENT_SECRET; $$HOLDPOINT_OIDC_CLIENT_SECRET_FILE)."`
	OIDCRoles            []string      `name:"oidc-roles" sep:"," from:"HOLDPOINT_OIDC_ROLES" placeholder:"GROUP=ROLE" help:"Roles by the issuer's groups; the strongest applies, and no group means no access ($$HOLDPOINT_OIDC_ROLES)."`
	ExternalURL          string        `name:"external-url" from:"HOLDPOINT_EXTERNAL_URL" placeholder:"URL" help:"Public URL of the service, for sign-in redirects (default: from the Host header) and for links in messages (default: none) ($$HOLDPOINT_EXTERNAL_URL)."`
	LimitRate            int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_RATE" help:"Sustained calls per second of a principal, or of a connection without credentials; -1 for no limit (default 100; $$HOLDPOINT_LIMIT_RATE)."`
	LimitBurst           int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_BURST" help:"Burst of calls of a principal (default 500, or twice --limit-rate; $$HOLDPOINT_LIMIT_BURST)."`
	LimitCalls           int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_CALLS" help:"Concurrent calls of a principal, not counting held ones; -1 for no limit (default 64; $$HOLDPOINT_LIMIT_CALLS)."`
	LimitHeld            int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_HELD" help:"Concurrent held calls (long polls) of a principal; -1 for no limit (default 1000; $$HOLDPOINT_LIMIT_HELD)."`
	LimitStreams         int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_STREAMS" help:"Open streams of a principal; -1 for no limit (default 10000; no limit without credentials; $$HOLDPOINT_LIMIT_STREAMS)."`
	LimitBytes           int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_BYTES" help:"Bytes of request bodies of a principal's concurrent calls; -1 for no limit (default 268435456; no limit without credentials; $$HOLDPOINT_LIMIT_BYTES)."`
	LimitStored          int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_STORED" help:"Bytes that a principal may add to the database per day; -1 for no limit (default 10737418240; no limit without credentials; $$HOLDPOINT_LIMIT_STORED)."`
	LimitPrompts         int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_PROMPTS" help:"Pending approvals and questions of a principal; -1 for no limit (default 100000; no limit without credentials; $$HOLDPOINT_LIMIT_PROMPTS)."`
	LimitQueuedRuns      int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_QUEUED_RUNS" help:"Unclaimed runs of a principal; -1 for no limit (default 100000; no limit without credentials; $$HOLDPOINT_LIMIT_QUEUED_RUNS)."`
	InsecureNoAuth       bool          `help:"With --auth=none: listen even if other machines can reach the address."`
	AllowedHost          []string      `sep:"," placeholder:"NAME" help:"Additional host name to answer to, besides localhost and IP addresses."`
	AllowedOrigin        []string      `sep:"," placeholder:"ORIGIN" help:"Additional web origin whose pages may call the service."`
	Migrate              string        `enum:"on,off" default:"on" help:"Migrate the schema at startup: on or off (default ${default})."`
	Pooled               bool          `from:"HOLDPOINT_POOLED" help:"The database is behind a connection pooler in transaction mode, such as PgBouncer ($$HOLDPOINT_POOLED)."`
	DirectDatabase       string        `from:"HOLDPOINT_DIRECT_DATABASE" placeholder:"URL" help:"With --pooled: URL of the Postgres server itself, for migrations and notifications; without it replicas poll ($$HOLDPOINT_DIRECT_DATABASE)."`
	MaxAttempts          int64         `default:"10" placeholder:"N" help:"Fail a run after this many claims without progress (default ${default})."`
	IdempotencyRetention Horizon       `default:"168h" placeholder:"DURATION" help:"How long to remember idempotency keys (default ${default})."`
	KeepRuns             Horizon       `placeholder:"DURATION" help:"Delete ended runs after this time, such as 90d; not less than --idempotency-retention (default: never)."`
	KeepRules            Horizon       `placeholder:"DURATION" help:"Delete revoked, expired and used-up rules after this time, such as 90d (default: never)."`
	Dialects             []string      `sep:"," default:"${dialects}" from:"HOLDPOINT_DIALECTS" placeholder:"NAME" help:"Protocols to serve in addition to /v1, or none (default ${default}; $$HOLDPOINT_DIALECTS)."`
	DefaultAgent         string        `default:"default" placeholder:"ID" help:"Agent for runs that timbal and relay clients start without naming one (default ${default})."`
	RelayAlways          string        `enum:"exact,prefix" default:"exact" help:"Meaning of always in the relay dialect: exact for the same call, prefix for every call that starts with the same word (default ${default})."`
	RelayModels          []string      `sep:"," from:"HOLDPOINT_RELAY_MODELS" placeholder:"NAME" help:"Models that relay clients can choose; the first is the default ($$HOLDPOINT_RELAY_MODELS)."`
	RuleMaxAge           time.Duration `placeholder:"DURATION" help:"Maximum lifetime of rules; 0 for no limit (default 0)."`
	ReviewHook           string        `from:"HOLDPOINT_REVIEW_HOOK" placeholder:"URL" help:"URL to post each new file-change approval to ($$HOLDPOINT_REVIEW_HOOK)."`
	SecretKeyFile        string        `from:"HOLDPOINT_SECRET_KEY_FILE" placeholder:"PATH" help:"File of keys that encrypt sensitive values, one [id:]base64 of 32 bytes per line; the first encrypts, all decrypt. Created if missing, and reloaded when it changes ($$HOLDPOINT_SECRET_KEY_FILE, or the keys in $$HOLDPOINT_SECRET_KEY)."`
	Channels             string        `from:"HOLDPOINT_CHANNELS" placeholder:"PATH" help:"YAML file of notification channels: e-mail, Slack, HTTP and settings of browsers ($$HOLDPOINT_CHANNELS)."`
	NotifyAfter          time.Duration `default:"30s" from:"HOLDPOINT_NOTIFY_AFTER" placeholder:"DURATION" help:"How long a request is open before people are notified; without --channels 0 for never (default ${default}; $$HOLDPOINT_NOTIFY_AFTER)."`
	DefaultExpiry        time.Duration `from:"HOLDPOINT_DEFAULT_EXPIRY" placeholder:"DURATION" help:"Deadline of requests that are raised without one, such as 24h; 0 for none (default 0; $$HOLDPOINT_DEFAULT_EXPIRY)."`
	WebhookAllow         []string      `sep:"," from:"HOLDPOINT_WEBHOOK_ALLOW" placeholder:"CIDR" help:"Non-public address ranges that webhooks may call, with or without TLS ($$HOLDPOINT_WEBHOOK_ALLOW)."`
	CallbackAllow        []string      `sep:"," from:"HOLDPOINT_CALLBACK_ALLOW" placeholder:"CIDR" help:"Non-public address ranges that request callbacks, which agents choose, may call, with or without TLS ($$HOLDPOINT_CALLBACK_ALLOW)."`
	CallbackRoles        []string      `sep:"," default:"agent,operator,admin" enum:"agent,operator,admin,none" from:"HOLDPOINT_CALLBACK_ROLES" placeholder:"ROLE" help:"Roles that may set callbacks: agent, operator, admin, or none (default ${default}; $$HOLDPOINT_CALLBACK_ROLES)."`
	ShutdownTimeout      time.Duration `default:"30s" placeholder:"DURATION" help:"Time for calls in flight to finish after a stop signal (default ${default})."`
	LogLevel             slog.Level    `default:"INFO" from:"HOLDPOINT_LOG_LEVEL" placeholder:"LEVEL" help:"Log level: debug, info, warn or error (default ${default}; $$HOLDPOINT_LOG_LEVEL)."`
	LogRequests          bool          `from:"HOLDPOINT_LOG_REQUESTS" help:"Log every call, not only failed ones ($$HOLDPOINT_LOG_REQUESTS)."`
	LogFormat            string        `enum:"text,json" default:"text" from:"HOLDPOINT_LOG_FORMAT" placeholder:"FORMAT" help:"Log format on stderr: text or json (default ${default}; $$HOLDPOINT_LOG_FORMAT)."`
}

// callbacksOfNobody is the value of --callback-roles that allows no callbacks.
const callbacksOfNobody = "none"

// Values of --auth.
const authNone = "none"

var modes = map[string]auth.Mode{"auto": auth.Auto, "required": auth.Required, authNone: auth.None}

// check refuses invalid combinations of flags.
func (c *Command) check() error {
	switch {
	case c.DirectDatabase != "" && !c.Pooled:
		return console.Usage("--direct-database needs --pooled")
	case c.Pooled && c.DirectDatabase == "" && c.Migrate == "on":
		return console.Usage("--pooled needs --direct-database for the migrations, or --migrate=off")
	case c.Pooled && !store.IsServer(c.Database) && c.CheckURL() == nil:
		return console.Usage("--pooled needs a Postgres database in --database")
	case c.DirectDatabase != "" && !store.IsServer(c.DirectDatabase):
		return console.Usage("--direct-database must be a URL such as postgres://user@host/name, with the special characters of its password escaped")
	case len(c.CallbackRoles) > 1 && slices.Contains(c.CallbackRoles, callbacksOfNobody):
		return console.Usage("--callback-roles: none stands alone")
	case c.InsecureNoAuth && c.Auth != authNone:
		return console.Usage("--insecure-no-auth needs --auth=none")
	case min(c.LimitRate, c.LimitBurst, c.LimitCalls, c.LimitHeld, c.LimitStreams, c.LimitBytes, c.LimitStored, c.LimitPrompts, c.LimitQueuedRuns) < -1 || c.LimitBurst < 0:
		return console.Usage("--limit-rate, --limit-calls, --limit-held, --limit-streams, --limit-bytes, --limit-stored, --limit-prompts and --limit-queued-runs must be at least 1, -1 for no limit, or 0 for the default, and --limit-burst at least 1, or 0 for the default")
	case c.LimitBytes > 0 && c.LimitBytes < wire.LongestBodyBytes:
		return console.Usage("--limit-bytes must be at least %d, the longest body", wire.LongestBodyBytes)
	case c.MaxAttempts < 1:
		return console.Usage("--max-attempts must be at least 1")
	case c.IdempotencyRetention < Horizon(time.Hour):
		return console.Usage("--idempotency-retention must be at least 1h")
	case c.KeepRuns != 0 && c.KeepRuns < c.IdempotencyRetention:
		return console.Usage("--keep-runs must not be shorter than --idempotency-retention: a key that is remembered names its run")
	case c.KeepRules != 0 && c.KeepRules < Horizon(time.Hour):
		return console.Usage("--keep-rules must be at least 1h")
	case c.ShutdownTimeout <= 0 || c.ShutdownTimeout > 24*time.Hour:
		return console.Usage("--shutdown-timeout must be positive and at most 24h")
	case c.NotifyAfter < time.Second && (c.NotifyAfter != 0 || c.Channels != "") || c.NotifyAfter > 24*time.Hour:
		return console.Usage("--notify-after must be 1s to 24h")
	case c.DefaultExpiry != 0 && (c.DefaultExpiry < time.Second || c.DefaultExpiry.Milliseconds() > api.MaxExpiresAfterMs):
		return console.Usage("--default-expiry must be at least 1s and at most 100 years, or 0 for none")
	case c.RuleMaxAge != 0 && c.RuleMaxAge < time.Millisecond:
		return console.Usage("--rule-max-age must be at least 1ms, or 0 for no limit")
	case !refusal.ValidID(c.DefaultAgent):
		return console.Usage("--default-agent must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
	}
	if err := checkExternalURL(c.ExternalURL); err != nil {
		return err
	}
	if err := c.checkIssuer(); err != nil {
		return err
	}
	if err := checkAllowed(c.AllowedHost, c.AllowedOrigin); err != nil {
		return err
	}
	return checkDialects(c.Dialects)
}
