package notify

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// escalate sets the recipients of the due steps of a request's escalation.
func (s *Service) escalate(ctx context.Context, advance *runs.AdvanceRequest, request *model.Request, principals []string) error {
	nowMs, err := s.options.Reader.NowMs(ctx)
	if err != nil {
		return err
	}
	steps := request.Escalation().Steps
	due := runs.DueSteps(request, s.options.Escalations, nowMs)
	if len(due) == 0 {
		return nil
	}
	identities, err := s.identities(ctx)
	if err != nil {
		return err
	}
	var named []string
	for _, step := range due {
		named = append(named, steps[step].Notify...)
	}
	sources := s.askOnCall(ctx, named)
	for _, step := range due {
		selectors := steps[step].Notify
		of := runs.DueStep{Step: step, To: sources.failures(selectors)}
		people, missed := stepPeople(selectors, sources, identities, principals)
		channels, err := s.channelsOf(ctx, people)
		if err != nil {
			return err
		}
		if room := api.MaxRecipients - len(of.To); len(people) > room {
			people = reachableFirst(people, channels)[:room]
		}
		for _, who := range people {
			recipient := channels[who]
			recipient.Principal = who
			switch {
			case !slices.Contains(principals, who):
				recipient = runs.Recipient{Principal: who, WhyNot: runs.WhyNotAllowed}
			case recipient.Channel == "":
				recipient.WhyNot = runs.WhyNoAddress
			}
			of.To = append(of.To, recipient)
		}
		for _, selector := range missed[:min(len(missed), api.MaxRecipients-len(of.To))] {
			of.To = append(of.To, runs.Recipient{Principal: selector, WhyNot: runs.WhyNobody})
		}
		advance.Steps = append(advance.Steps, of)
	}
	return nil
}

// reachableFirst orders the people with a channel before the others: the others must not take up their room.
func reachableFirst(people []string, channels map[string]runs.Recipient) []string {
	notReachable := func(who string) int {
		if channels[who].Channel != "" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(people, func(a, b string) int { return cmp.Compare(notReachable(a), notReachable(b)) })
	return people
}

// identities returns who may decide anything; none if the service requires no credentials.
func (s *Service) identities(ctx context.Context) ([]*auth.Identity, error) {
	if s.options.Identities == nil {
		return nil, nil
	}
	return s.options.Identities(ctx)
}

// selected returns the people whom selectors name, each once, in the order of the selectors, and the groups and roles that fit nobody
// who may decide. deciders may decide the request. People of a group or a role who may not are left out; a person who is named, also by
// an on-call source, is returned in any case. A service that requires no credentials has one person, whom every selector names.
func selected(selectors []string, sources onCall, identities []*auth.Identity, deciders []string) (people, missed []string) {
	if slices.Equal(deciders, []string{auth.LocalPrincipal}) {
		return deciders, nil
	}
	// An agent may name a large group in each selector.
	mayDecide := map[string]bool{}
	for _, who := range deciders {
		mayDecide[who] = true
	}
	added := map[string]bool{}
	add := func(who string) {
		if !added[who] {
			added[who] = true
			people = append(people, who)
		}
	}
	for _, selector := range selectors {
		if strings.HasPrefix(selector, runs.SelectUser) {
			add(selector)
			continue
		}
		for _, who := range sources[selector].people {
			add(who)
		}
		group, isGroup := strings.CutPrefix(selector, runs.SelectGroup)
		role, isRole := strings.CutPrefix(selector, runs.SelectRole)
		fitsNobody := isGroup || isRole
		for _, identity := range identities {
			if fits := isGroup && slices.Contains(identity.Groups, group) || isRole && string(identity.Role) == role; fits && mayDecide[identity.Principal] {
				add(identity.Principal)
				fitsNobody = false
			}
		}
		if fitsNobody {
			missed = append(missed, selector)
		}
	}
	return people, missed
}

// channelsOf returns how each of these people is notified: their browsers, or else their
// first verified address.
func (s *Service) channelsOf(ctx context.Context, principals []string) (map[string]runs.Recipient, error) {
	channels := map[string]runs.Recipient{}
	to, err := s.reachableBy(ctx, principals)
	for _, recipient := range to {
		channels[recipient.Principal] = recipient
	}
	return channels, err
}
