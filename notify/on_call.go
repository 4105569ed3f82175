package notify

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

// OnCall is a source outside of the service that says who is on call. It is safe for concurrent use.
type OnCall interface {
	// People returns the principals on call, within 2 s. With an error, they are the last answer, or nobody
	// if there is none. The error contains no secret.
	People(ctx context.Context) ([]string, error)
}

// onCall are the answers of the on-call sources that the due steps of one request name, by selector.
type onCall map[string]onCallAnswer

type onCallAnswer struct {
	people []string
	// why is not empty if the source failed or named nobody.
	why string
}

// askOnCall asks each source that the selectors name once, all at the same time: sources that hang must
// not outlast the claim of the effect together. It holds no lock of the request.
func (s *Service) askOnCall(ctx context.Context, selectors []string) onCall {
	answers := onCall{}
	for _, selector := range selectors {
		if strings.HasPrefix(selector, runs.SelectOnCall) {
			answers[selector] = onCallAnswer{}
		}
	}
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, selector := range slices.Collect(maps.Keys(answers)) {
		asking.Go(func() {
			answer := s.askSource(ctx, strings.TrimPrefix(selector, runs.SelectOnCall))
			mu.Lock()
			defer mu.Unlock()
			answers[selector] = answer
		})
	}
	asking.Wait()
	return answers
}

func (s *Service) askSource(ctx context.Context, name string) onCallAnswer {
	source := s.options.OnCall[name]
	if source == nil {
		return onCallAnswer{why: runs.WhyOnCallFailed}
	}
	var people []string
	err := s.safely("on-call source "+name, func() (err error) {
		people, err = source.People(ctx)
		return err
	})
	switch {
	case err != nil:
		s.options.Logger.WarnContext(ctx, "an on-call source failed", slog.String("source", name), errorAttr(err))
		return onCallAnswer{people, runs.WhyOnCallFailed}
	case len(people) == 0:
		return onCallAnswer{why: runs.WhyOnCallEmpty}
	}
	return onCallAnswer{people: people}
}

// stepPeople returns the people whom a step selects, and its selectors that fit nobody. If an on-call source names nobody who may decide,
// and the step's other selectors neither, they are the admins: a step never ends in silence because of a
// source.
func stepPeople(selectors []string, sources onCall, identities []*auth.Identity, deciders []string) (people, missed []string) {
	people, missed = selected(selectors, sources, identities, deciders)
	mayDecide := func(who string) bool { return slices.Contains(deciders, who) }
	isOnCall := func(selector string) bool { return strings.HasPrefix(selector, runs.SelectOnCall) }
	if slices.ContainsFunc(selectors, isOnCall) && !slices.ContainsFunc(people, mayDecide) {
		admins, _ := selected([]string{runs.SelectRole + string(api.RoleAdmin)}, nil, identities, deciders)
		people = append(people, admins...)
	}
	return people, missed
}

// failures returns an entry of the step's event for each on-call source that failed or named nobody.
func (o onCall) failures(selectors []string) (entries []runs.Recipient) {
	for _, selector := range selectors {
		if answer := o[selector]; answer.why != "" {
			entries = append(entries, runs.Recipient{Principal: selector, WhyNot: answer.why})
		}
	}
	return entries
}
