// Package serve holds the command that runs the service: it opens a database, starts the
// loops, and serves HTTP until a signal ends it.
package serve

import (
	"log/slog"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/cli/database"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Command runs the service until a signal ends it.
type Command struct {
	database.Flag
	Listen               string        `default:"127.0.0.1:4000" from:"HOLDPOINT_LISTEN" placeholder:"HOST:PORT" help:"Where to listen, or unix:PATH for a socket of its owner alone; port 0 picks a free one (default ${default}; $$HOLDPOINT_LISTEN)."`
	Config               string        `placeholder:"PATH" help:"A JSON object whose members are flags; flags and variables win ($$HOLDPOINT_CONFIG)."`
	TLSCert              string        `name:"tls-cert" from:"HOLDPOINT_TLS_CERT" placeholder:"PATH" help:"Serve HTTPS with this certificate and those behind it, PEM; read again on SIGHUP ($$HOLDPOINT_TLS_CERT)."`
	TLSKey               string        `name:"tls-key" from:"HOLDPOINT_TLS_KEY" placeholder:"PATH" help:"The key of --tls-cert, PEM ($$HOLDPOINT_TLS_KEY)."`
	ClientCA             string        `name:"client-ca" from:"HOLDPOINT_CLIENT_CA" placeholder:"PATH" help:"Who shows a client certificate of these authorities, PEM, is an agent of its name; read again on SIGHUP ($$HOLDPOINT_CLIENT_CA)."`
	SigningKeyFile       string        `from:"HOLDPOINT_SIGNING_KEY_FILE" placeholder:"PATH" help:"Sign with the first Ed25519 key of this PEM file; made when it is not there (default the SQLite file and .signing-key, otherwise a key of this process alone; $$HOLDPOINT_SIGNING_KEY_FILE)."`
	AdminAddr            string        `from:"HOLDPOINT_ADMIN_ADDR" placeholder:"HOST:PORT" help:"Serve metrics for Prometheus here, and profiles to this machine; nowhere when empty ($$HOLDPOINT_ADMIN_ADDR)."`
	OTLPEndpoint         string        `name:"otlp-endpoint" from:"OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"URL" help:"Send traces to this OpenTelemetry collector, by OTLP over HTTP; nowhere when empty ($$OTEL_EXPORTER_OTLP_ENDPOINT)."`
	ListenFile           string        `placeholder:"PATH" help:"Write the service's URL to this file once it takes calls, for scripts."`
	Auth                 string        `enum:"auto,required,none" default:"auto" from:"HOLDPOINT_AUTH" help:"Ask for tokens: auto (once one was made, and always where other machines can reach the service), required or none (default ${default}; $$HOLDPOINT_AUTH)."`
	OIDCIssuer           string        `name:"oidc-issuer" from:"HOLDPOINT_OIDC_ISSUER" placeholder:"URL" help:"People sign in by this OpenID Connect issuer, and machines by its ID tokens ($$HOLDPOINT_OIDC_ISSUER)."`
	OIDCClientID         string        `name:"oidc-client-id" from:"HOLDPOINT_OIDC_CLIENT_ID" placeholder:"ID" help:"Who the service is to the issuer; its ID tokens must have this audience ($$HOLDPOINT_OIDC_CLIENT_ID)."`
	OIDCClientSecretFile string        `name:"oidc-client-secret-file" from:"HOLDPOINT_OIDC_CLIENT_SECRET_FILE" placeholder:"PATH" help:"Read the client's secret from this file (default $$HOLDPOINT_OIDC_CLIENT_SECRET; $$HOLDPOINT_OIDC_CLIENT_SECRET_FILE)."`
	OIDCRoles            []string      `name:"oidc-roles" sep:"," from:"HOLDPOINT_OIDC_ROLES" placeholder:"GROUP=ROLE" help:"The roles of the issuer's groups; of several the strongest, and without one no access ($$HOLDPOINT_OIDC_ROLES)."`
	ExternalURL          string        `name:"external-url" from:"HOLDPOINT_EXTERNAL_URL" placeholder:"URL" help:"Where browsers reach the service, for the way back from the issuer; by what they call when empty ($$HOLDPOINT_EXTERNAL_URL)."`
	LimitRate            int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_RATE" help:"Calls a second that one principal may make for long, or one connection without credentials; -1 for no limit (default 100; $$HOLDPOINT_LIMIT_RATE)."`
	LimitBurst           int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_BURST" help:"Calls that one principal may make at once (default 500, or twice --limit-rate; $$HOLDPOINT_LIMIT_BURST)."`
	LimitCalls           int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_CALLS" help:"Calls of one principal that are not answered yet and not held; -1 for no limit (default 64; $$HOLDPOINT_LIMIT_CALLS)."`
	LimitHeld            int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_HELD" help:"Calls of one principal that are held until something happens; -1 for no limit (default 1000; $$HOLDPOINT_LIMIT_HELD)."`
	LimitStreams         int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_STREAMS" help:"Open streams of one principal; -1 for no limit (default 10000; without credentials none; $$HOLDPOINT_LIMIT_STREAMS)."`
	LimitBytes           int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_BYTES" help:"Bytes of the bodies of one principal's calls that are not answered yet; -1 for no limit (default 268435456; without credentials none; $$HOLDPOINT_LIMIT_BYTES)."`
	LimitStored          int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_STORED" help:"Bytes that one principal's calls may add to the database in a day; -1 for no limit (default 10737418240; without credentials none; $$HOLDPOINT_LIMIT_STORED)."`
	LimitPrompts         int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_PROMPTS" help:"Approvals and questions that one principal may have waiting for a decision; -1 for no limit (default 100000; without credentials none; $$HOLDPOINT_LIMIT_PROMPTS)."`
	LimitQueuedRuns      int64         `placeholder:"N" from:"HOLDPOINT_LIMIT_QUEUED_RUNS" help:"Runs of one principal that no worker has taken; -1 for no limit (default 100000; without credentials none; $$HOLDPOINT_LIMIT_QUEUED_RUNS)."`
	InsecureNoAuth       bool          `help:"With --auth=none: listen where other machines can reach it all the same."`
	AllowedHost          []string      `sep:"," placeholder:"NAME" help:"Also answer to this host name besides localhost and IP addresses."`
	AllowedOrigin        []string      `sep:"," placeholder:"ORIGIN" help:"Also answer to web pages of this origin."`
	Migrate              string        `enum:"on,off" default:"on" help:"Bring the schema up to date at the start: on or off (default ${default})."`
	Pooled               bool          `from:"HOLDPOINT_POOLED" help:"The database is reached through a proxy that pools by transaction, such as pgbouncer ($$HOLDPOINT_POOLED)."`
	DirectDatabase       string        `from:"HOLDPOINT_DIRECT_DATABASE" placeholder:"URL" help:"With --pooled: the Postgres server itself, for migrations and to hear of other replicas at once; without it replicas poll ($$HOLDPOINT_DIRECT_DATABASE)."`
	MaxAttempts          int64         `default:"10" placeholder:"N" help:"Fail a run that was claimed this often without any progress (default ${default})."`
	IdempotencyRetention Horizon       `default:"168h" placeholder:"DURATION" help:"How long idempotency keys are remembered (default ${default})."`
	KeepRuns             Horizon       `placeholder:"DURATION" help:"Delete runs with all that they have when they have been over for so long, as 90d; not less than --idempotency-retention (default: never)."`
	KeepRules            Horizon       `placeholder:"DURATION" help:"Delete standing rules when they have been revoked or expired for so long, as 90d (default: never)."`
	Dialects             []string      `sep:"," default:"hermes,codex,timbal,relay" from:"HOLDPOINT_DIALECTS" placeholder:"NAME" help:"The foreign wire contracts to serve beside /v1: some of hermes, codex, timbal and relay, or none (default ${default}; $$HOLDPOINT_DIALECTS)."`
	DefaultAgent         string        `default:"default" placeholder:"ID" help:"The agent that takes runs which timbal and relay clients start without naming one (default ${default})."`
	RelayAlways          string        `enum:"exact,prefix" default:"exact" help:"What always means in the relay dialect: the exact call, or every call that begins with the same word (default ${default})."`
	RelayModels          []string      `sep:"," from:"HOLDPOINT_RELAY_MODELS" placeholder:"NAME" help:"The models that relay clients may choose from; the first is the default ($$HOLDPOINT_RELAY_MODELS)."`
	RuleMaxAge           time.Duration `placeholder:"DURATION" help:"Refuse standing rules that are to hold longer than this; 0 for no cap (default 0)."`
	ReviewHook           string        `from:"HOLDPOINT_REVIEW_HOOK" placeholder:"URL" help:"Post each file-change approval here, once, when it is raised ($$HOLDPOINT_REVIEW_HOOK)."`
	SecretKeyFile        string        `from:"HOLDPOINT_SECRET_KEY_FILE" placeholder:"PATH" help:"Keys that encrypt sensitive values, one a line, [id:]base64 of 32 bytes: the first encrypts, all decrypt; made when it is not there, and read again when it changes ($$HOLDPOINT_SECRET_KEY_FILE, or the keys in $$HOLDPOINT_SECRET_KEY)."`
	Channels             string        `from:"HOLDPOINT_CHANNELS" placeholder:"PATH" help:"A YAML file of channels, by which people are told of what they may decide: e-mail and HTTP ($$HOLDPOINT_CHANNELS)."`
	NotifyAfter          time.Duration `default:"30s" from:"HOLDPOINT_NOTIFY_AFTER" placeholder:"DURATION" help:"With --channels: how long a request is open before people are told of it (default ${default}; $$HOLDPOINT_NOTIFY_AFTER)."`
	WebhookAllow         []string      `sep:"," from:"HOLDPOINT_WEBHOOK_ALLOW" placeholder:"CIDR" help:"Let webhooks call addresses of these ranges though they are not public, also without TLS ($$HOLDPOINT_WEBHOOK_ALLOW)."`
	CallbackAllow        []string      `sep:"," from:"HOLDPOINT_CALLBACK_ALLOW" placeholder:"CIDR" help:"Let callbacks of requests, which agents name, call addresses of these ranges though they are not public, also without TLS ($$HOLDPOINT_CALLBACK_ALLOW)."`
	CallbackRoles        []string      `sep:"," default:"agent,operator,admin" enum:"agent,operator,admin,none" from:"HOLDPOINT_CALLBACK_ROLES" placeholder:"ROLE" help:"Who may name callbacks: agent, operator, admin, or none (default ${default}; $$HOLDPOINT_CALLBACK_ROLES)."`
	ShutdownTimeout      time.Duration `default:"30s" placeholder:"DURATION" help:"How long calls in flight may take to finish after a signal (default ${default})."`
	LogLevel             slog.Level    `default:"INFO" from:"HOLDPOINT_LOG_LEVEL" placeholder:"LEVEL" help:"debug, info, warn or error (default ${default}; $$HOLDPOINT_LOG_LEVEL)."`
	LogRequests          bool          `from:"HOLDPOINT_LOG_REQUESTS" help:"Log every call, not only those that failed ($$HOLDPOINT_LOG_REQUESTS)."`
	LogFormat            string        `enum:"text,json" default:"text" from:"HOLDPOINT_LOG_FORMAT" placeholder:"FORMAT" help:"text or json, on stderr (default ${default}; $$HOLDPOINT_LOG_FORMAT)."`
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
	case c.InsecureNoAuth && c.Auth != authNone:
		return console.Usage("--insecure-no-auth needs --auth=none")
	case min(c.LimitRate, c.LimitBurst, c.LimitCalls, c.LimitHeld, c.LimitStreams, c.LimitBytes, c.LimitStored, c.LimitPrompts, c.LimitQueuedRuns) < -1 || c.LimitBurst < 0:
		return console.Usage("--limit-rate, --limit-calls, --limit-held, --limit-streams, --limit-bytes, --limit-stored, --limit-prompts and --limit-queued-runs must be at least 1, or -1 for no limit, and --limit-burst at least 1")
	case c.LimitBytes > 0 && c.LimitBytes < wire.DefaultMaxBodyBytes:
		return console.Usage("--limit-bytes must be at least %d, the longest body", wire.DefaultMaxBodyBytes)
	case c.MaxAttempts < 1:
		return console.Usage("--max-attempts must be at least 1")
	case c.IdempotencyRetention < Horizon(time.Hour):
		return console.Usage("--idempotency-retention must be at least 1h")
	case c.KeepRuns != 0 && c.KeepRuns < c.IdempotencyRetention:
		return console.Usage("--keep-runs must not be shorter than --idempotency-retention: a key that is remembered names its run")
	case c.KeepRules != 0 && c.KeepRules < Horizon(time.Hour):
		return console.Usage("--keep-rules must be at least 1h")
	case c.ShutdownTimeout <= 0:
		return console.Usage("--shutdown-timeout must be positive")
	case c.NotifyAfter < time.Second && (c.NotifyAfter != 0 || c.Channels != "") || c.NotifyAfter > 24*time.Hour:
		return console.Usage("--notify-after must be 1s to 24h")
	case c.RuleMaxAge < 0:
		return console.Usage("--rule-max-age must not be negative")
	case !refusal.ValidID(c.DefaultAgent):
		return console.Usage("--default-agent must have 1 to %d characters of A-Z a-z 0-9 . _ : -", api.MaxIDLength)
	}
	if err := c.checkIssuer(); err != nil {
		return err
	}
	if err := checkAllowed(c.AllowedHost, c.AllowedOrigin); err != nil {
		return err
	}
	return checkDialects(c.Dialects)
}
