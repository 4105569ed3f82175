package service

import (
	"context"
	"reflect"
	"slices"
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
		NewID: runs.NewID, NowMs: s.options.NowMs, Logger: s.options.Logger, Changed: s.options.Store.RefreshWebhooks,
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
		Reach: func(ctx context.Context, principal string) ([]reads.Scope, error) {
			return reachOf(ctx, s.options.Keyring, principal)
		},
	})
}

// maxReach is the maximum number of different scopes of a person that are counted, which bounds the
// statement.
const maxReach = 50

// reachOf returns the scopes of a person's credentials, as auth.Keyring.MayStillDecide counts them, each once, or none if
// one of them reaches everything or the person has none.
func reachOf(ctx context.Context, keyring *auth.Keyring, principal string) ([]reads.Scope, error) {
	deciders, _, err := keyring.Deciders(ctx)
	var reach []reads.Scope
	for _, decider := range deciders {
		if decider.Principal != principal && decider.OnBehalfOf != principal {
			continue
		}
		scope := reads.ScopeOf(decider)
		if !scope.Bounded() {
			return nil, err
		}
		same := func(known reads.Scope) bool { return reflect.DeepEqual(known, scope) }
		if len(reach) < maxReach && !slices.ContainsFunc(reach, same) {
			reach = append(reach, scope)
		}
	}
	return reach, err
}

// directory returns the principals with a valid credential.
type directory struct{ *auth.Keyring }
