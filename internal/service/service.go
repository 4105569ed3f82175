// Package service assembles a service from an open store: its API and pages, and the
// background loops. The command serve and package holdpoint run it. It knows nothing of
// flags, listeners and the process.
package service

import (
	"context"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/v1/hooks"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/webhooks"
	"github.com/holdpoint/holdpoint/webhooks/deliver"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// Options configure a [Service]. Store, Logger, Keyring and Signing must be set; other
// features are off, or have a default, if zero.
type Options struct {
	// Options are the ones of the API. New sets what depends on the store and on the other options:
	// everything that reads or writes rows, Hub, Claims, Webhooks, Notify, Issuer, Sealer and Reviewed.
	httpapi.Options

	Store store.Store
	// Delivered observes each attempt to deliver to a webhook, or to notify a person by a channel.
	Delivered func(channel string, outcome deliver.Outcome, took time.Duration)

	ExternalURL string
	SecretKeys  *sealing.Keys

	// WebhookGuard and CallbackGuard restrict which addresses are called.
	WebhookGuard, CallbackGuard egress.Guard
	CallbackRoles               []api.Role
	// Channels send notifications to people; nil for none.
	Channels map[string]notify.Channel
	// Escalations are the settings of escalations, as the store has them, and OnCall are their sources, by name.
	Escalations *escalation.Settings
	OnCall      map[string]notify.OnCall
	// Review receives file changes that wait for approval.
	Review func(context.Context, api.JSON) error

	// IntakeInterval is how often runs of other programs' transactions are looked for; the default
	// of [loop.IntakeOptions] if 0.
	IntakeInterval time.Duration

	MaxAttempts                               int64
	IdempotencyRetention, KeepRuns, KeepRules time.Duration

	// NowMs is the clock of people's addresses and of links; nil for this process's.
	NowMs func() int64
}

// Service is an assembled service without a listener.
type Service struct {
	API    *httpapi.Server
	Claims *claims.Dispatcher
	// People notifies people.
	People *notify.Service

	options     Options
	hub         *watch.Hub
	checkpoints *audit.Checkpointer
	deliverer   *deliver.Deliverer
	unsubscribe []func()
}

// New assembles a service. [Service.Close] stops what New started.
func New(options Options) *Service {
	if options.NowMs == nil {
		options.NowMs = NowMs
	}
	s := &Service{options: options, hub: watch.NewHub()}
	s.checkpoints = audit.NewCheckpointer(options.Store, options.Signing, options.Logger)
	claiming := claims.Options{MaxAttempts: options.MaxAttempts, Logger: options.Logger}
	if options.SecretKeys != nil {
		claiming.Opens = options.SecretKeys.Opens
	}
	s.Claims = claims.New(options.Store, claiming)
	s.People = s.notifications()
	s.API = httpapi.New(s.faces(s.webhooks()))
	s.unsubscribe = []func(){options.Store.Subscribe(s.hub.Publish), options.Store.Subscribe(s.checkpoints.Notice)}
	return s
}

// Close stops what [New] started. The store stays open.
func (s *Service) Close() {
	for _, end := range s.unsubscribe {
		end()
	}
}

// Loops returns the background loops, first the one that expires requests. Each runs until its context ends.
func (s *Service) Loops() []func(context.Context) error {
	o := &s.options
	effects := loop.EffectsOptions{Logger: o.Logger, Review: o.Review}
	if o.Channels != nil {
		effects.Recipients = s.People.Recipients
	}
	loops := []func(context.Context) error{
		loop.NewExpiry(o.Store, loop.ExpiryOptions{Logger: o.Logger}).Run,
		loop.NewEffects(o.Store, effects).Run,
		loop.NewRetention(o.Store, loop.RetentionOptions{
			Retention: o.IdempotencyRetention, KeepRuns: o.KeepRuns, KeepRules: o.KeepRules, Logger: o.Logger,
		}).Run,
		o.Keyring.Run,
		s.Claims.Run, s.checkpoints.Run, s.deliverer.Run,
	}
	loops = append(loops, s.People.Listeners()...)
	if rows := o.Store.Intake(); rows != nil {
		loops = append(loops, loop.NewIntake(rows, loop.IntakeOptions{
			Create: s.API.Intake().Create, Interval: o.IntakeInterval, Logger: o.Logger,
		}).Run)
	}
	return loops
}

// CallbackUse is [deliver.Deliverer.CallbackUse].
func (s *Service) CallbackUse() float64 { return s.deliverer.CallbackUse() }

// Trusted returns a second server of /v1 that requires no credentials, for callers in this
// process.
func (s *Service) Trusted() *httpapi.Server {
	options := s.faces(s.API.Webhooks())
	options.OIDC, options.ClientCertificates = nil, false
	options.Keyring = auth.NewKeyring(auth.Options{Tokens: s.options.Store, Mode: auth.None, NewID: runs.NewID, Logger: s.options.Logger, NowMs: NowMs})
	options.Pages, options.Faces, options.Origins, options.Backlogs = nil, nil, nil, nil
	options.Limits = httpapi.Limits{}
	return httpapi.New(options)
}

// faces returns the options of the HTTP server.
func (s *Service) faces(webhooks *hooks.Service) httpapi.Options {
	o := &s.options
	options := o.Options
	options.Store, options.Checkpoints, options.Journal, options.Redactor, options.Backlogs = o.Store, o.Store, o.Store, o.Store, o.Store
	options.Hub, options.Claims, options.Webhooks, options.Notify = s.hub, s.Claims, webhooks, s.People
	options.Issuer, options.Sealer = o.ExternalURL, s.sealer()
	if o.Review != nil {
		options.Reviewed = codex.ChangesFiles
	}
	return options
}

// webhooks sets up deliveries to webhooks and returns what their routes need.
func (s *Service) webhooks() *hooks.Service {
	o := &s.options
	manager := webhooks.NewManager(webhooks.Options{
		Store: o.Store, CheckURL: o.WebhookGuard.CheckURL, NewID: runs.NewID, NowMs: NowMs, Sealer: s.sealer(),
	})
	delivering := deliver.Options{
		Manager: manager, Client: egress.New(egress.Options{Guard: o.WebhookGuard}), CallbackClient: egress.New(egress.Options{Guard: o.CallbackGuard}), Logger: o.Logger,
		ExternalURL: strings.TrimRight(o.ExternalURL, "/"), Observe: o.Delivered,
		Callbacks: deliver.Callbacks{Sealer: s.sealer(), Sign: o.Signing.Sign, Issuer: httpapi.GrantIssuer(o.ExternalURL)},
	}
	if o.Channels != nil {
		delivering.Notices = s.People
	}
	s.deliverer = deliver.New(o.Store, delivering)
	return &hooks.Service{
		Manager: manager, CheckCallback: o.CallbackGuard.CheckURL, CallbackRoles: o.CallbackRoles,
		Changed: func(ctx context.Context) error {
			s.deliverer.Wake()
			return o.Store.RefreshWebhooks(ctx)
		},
		Test: func(ctx context.Context, e *webhooks.Endpoint) (api.WebhookTest, error) {
			return s.deliverer.Test(ctx, e, runs.NewID)
		},
	}
}

// sealer returns the encryption of sensitive values, nil without keys.
func (s *Service) sealer() runs.Sealer {
	if s.options.SecretKeys == nil {
		return nil
	}
	return s.options.SecretKeys
}

// NowMs is the clock of this process, in Unix milliseconds.
func NowMs() int64 { return time.Now().UnixMilli() }
