package service

import (
	"context"
	"strings"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// notifications returns the service that notifies people.
func (s *Service) notifications() *notify.Service {
	collector := explain.Collector{Reader: s.options.Store, Whole: s.options.Store, NowMs: s.options.Store.NowMs, Directory: directory{s.options.Keyring}}
	return notify.New(notify.Options{
		Store: s.options.Store, Reader: s.options.Store, Channels: s.options.Channels, ExternalURL: strings.TrimRight(s.options.ExternalURL, "/"),
		NewID: runs.NewID, NowMs: NowMs, Logger: s.options.Logger, Changed: s.options.Store.RefreshWebhooks,
		Deciders: func(ctx context.Context, run *model.Run, request *model.Request) ([]string, error) {
			one := collector
			return one.MayDecide(ctx, run, request)
		},
		Identities: s.options.Keyring.MayDecide, Escalations: s.options.Escalations, OnCall: s.options.OnCall,
		HasCredential: s.options.Keyring.MayStillDecide,
		Decide:        func(ctx context.Context, command runs.Command) error { return s.API.Decide(ctx, command) },
		ByLink: func(ctx context.Context, principal string, run *model.Run) (*auth.Identity, error) {
			return s.options.Keyring.ByLink(ctx, principal, func(i *auth.Identity) bool {
				scope := reads.ScopeOf(i)
				return scope.FitsRun(run)
			})
		},
		Reach: func(ctx context.Context, principal string) (reads.Scope, error) {
			return reachOf(ctx, s.options.Keyring, principal)
		},
	})
}

// reachOf returns the scope of a person: everything, or the scope of the person's first token.
func reachOf(ctx context.Context, keyring *auth.Keyring, principal string) (reads.Scope, error) {
	deciders, _, err := keyring.Deciders(ctx)
	reach, found := reads.Scope{}, false
	for _, decider := range deciders {
		if decider.Principal != principal {
			continue
		}
		scope := reads.ScopeOf(decider)
		if !scope.Bounded() {
			return scope, err
		}
		if !found {
			reach, found = scope, true
		}
	}
	return reach, err
}

// directory returns the principals with a valid credential.
type directory struct{ *auth.Keyring }
