package notify

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Channel sends messages. It is safe for concurrent use.
type Channel interface {
	Kind() api.ChannelKind
	// Summary reports whether messages show more than the tool, the agent and the deadline.
	Summary() bool
	// Links says what the links in the messages lead to. Messages to browsers open the inbox instead.
	Links() api.LinkMode
	// CheckAddress returns an error if the text is not a valid address of the channel.
	CheckAddress(address string) error
	// Send sends one message, and ends with ctx. The error contains no address and no secret. It wraps
	// ErrPermanent if a retry would not help.
	Send(ctx context.Context, address string, m *Message) error
}

// ErrPermanent is wrapped by errors that a retry would not help.
var ErrPermanent = errors.New("given up")

// Reader is the part of a runs.Store that a [Service] uses.
type Reader interface {
	reads.Reader
	Within(scope reads.Scope) reads.Reader
	NowMs(ctx context.Context) (int64, error)
}

// Options configure a [Service]. All but Logger must be set, unless their comment says otherwise.
type Options struct {
	Store    Store
	Reader   Reader
	Channels map[string]Channel
	// Deciders returns the principals whose allow or answer to an open request would be accepted now.
	Deciders func(ctx context.Context, run *model.Run, request *model.Request) ([]string, error)
	// Identities returns who may decide anything, for groups and roles. If it is nil, nobody has one.
	Identities func(ctx context.Context) ([]*auth.Identity, error)
	// Escalations are the settings of escalations; nil for none. OnCall are the sources that they name.
	Escalations *escalation.Settings
	OnCall      map[string]OnCall
	// HasCredential reports whether one of these principals has a credential that may decide. An empty
	// name has none. If it is nil, everyone has.
	HasCredential func(ctx context.Context, principals ...string) (bool, error)
	// ByLink returns the identity with which a person decides about a run by the link of a message; nil
	// if they may not, or have to sign in first. A nil function means nobody may.
	ByLink func(ctx context.Context, principal string, run *model.Run) (*auth.Identity, error)
	// Reach returns the scopes of a person's credentials, for counts; none for everything.
	Reach func(ctx context.Context, principal string) ([]reads.Scope, error)
	// ExternalURL is the public URL of the service, without a slash at the end. If it is empty,
	// messages have no link.
	ExternalURL string
	// Decide issues a command of the caller in the context, for buttons. A nil function means that buttons decide
	// nothing.
	Decide func(ctx context.Context, command runs.Command) error
	NewID  runs.IDSource
	NowMs  func() int64
	// Changed is called when a person gets a verified address; nil for none.
	Changed func(context.Context) error
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

// Service notifies people of requests that they may decide. It is safe for concurrent use.
type Service struct {
	options  Options
	channels map[string]Channel
}

// New returns a service.
func New(options Options) *Service {
	options.Logger = cmp.Or(options.Logger, slog.Default())
	return &Service{options: options, channels: options.Channels}
}

func channelAttr(name string) slog.Attr { return slog.String("channel", name) }
func errorAttr(err error) slog.Attr     { return slog.Any("error", err) }

// Channels returns the names of the channels.
func (s *Service) Channels() []string { return slices.Sorted(maps.Keys(s.channels)) }

// Recipients sets Gone and the people to notify in a command: those whom the due steps of the request's
// escalation select. Without steps, they are everyone who may decide the request and has a verified
// address on a channel of this service. Each gets one message: in their browsers, or else at their first
// such address. If that one fails, [Service.Next] has the next one.
func (s *Service) Recipients(ctx context.Context, advance *runs.AdvanceRequest) error {
	request, run, err := s.open(ctx, advance.Handle)
	if err != nil || request == nil {
		return err
	}
	if advance.Gone, err = s.gone(ctx, request); err != nil {
		return err
	}
	principals, err := s.options.Deciders(ctx, run, request)
	if err != nil {
		return err
	}
	if request.Escalates() {
		return s.escalate(ctx, advance, request, principals)
	}
	advance.To, err = s.reachableBy(ctx, principals)
	return err
}

// reachableBy returns the people who have a verified address on a channel, with the channel of the first one.
func (s *Service) reachableBy(ctx context.Context, principals []string) ([]runs.Recipient, error) {
	if len(principals) == 0 {
		return nil, nil
	}
	addresses, err := s.options.Store.Addresses(ctx, principals)
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	var to []runs.Recipient
	for _, a := range s.inOrder(addresses) {
		if !told[a.Principal] && len(to) < api.MaxRecipients {
			told[a.Principal] = true
			to = append(to, s.recipient(a))
		}
	}
	return to, nil
}

// Reachable returns those of these principals, at most api.MaxRecipients, who have a verified address on a channel. Errors:
// errors of the store.
func (s *Service) Reachable(ctx context.Context, principals []string) (reachable []string, err error) {
	to, err := s.reachableBy(ctx, principals)
	for _, recipient := range to {
		reachable = append(reachable, recipient.Principal)
	}
	return reachable, err
}

// open returns an open request before its deadline, with its run; otherwise nil.
func (s *Service) open(ctx context.Context, handle string) (*model.Request, *model.Run, error) {
	found, err := s.options.Reader.DecisionByHandle(ctx, handle)
	switch {
	case refusal.CodeOf(err) == api.CodeRequestNotFound:
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !found.Request.Open():
		return nil, nil, nil
	}
	nowMs, err := s.options.Reader.NowMs(ctx)
	if err != nil {
		return nil, nil, err
	}
	if found.Request.DueAtMs != 0 && found.Request.DueAtMs <= nowMs {
		return nil, nil, nil
	}
	record, err := s.options.Reader.Run(ctx, found.Request.RunID)
	if err != nil {
		return nil, nil, err
	}
	return &found.Request, &record.Run, nil
}

// Views returns the channels with their unsent messages. The last error is of the newest message that is retried, or else
// of the newest that was given up, among the newest and the oldest 20 of each.
func (s *Service) Views(ctx context.Context) (api.ChannelList, error) {
	list := api.ChannelList{Data: []api.Channel{}}
	for _, name := range s.Channels() {
		view := api.Channel{Name: name, Kind: s.channels[name].Kind()}
		if view.Kind != api.ChannelPush {
			view.Links = s.channels[name].Links()
		}
		for _, unsent := range []struct {
			state api.EffectState
			count *int64
		}{{api.EffectPending, &view.Pending}, {api.EffectFailed, &view.Failed}} {
			q := reads.EffectQuery{WebhookID: model.NoticeWebhookID(name), State: unsent.state, Limit: 20}
			var err error
			if *unsent.count, err = s.options.Reader.CountEffects(ctx, q); err != nil {
				return list, err
			}
			// In an outage the newest may not have been tried yet.
			for _, newest := range []bool{true, false} {
				if view.LastError != "" {
					break
				}
				q.Newest = newest
				if view.LastError, err = s.newestError(ctx, q); err != nil {
					return list, err
				}
			}
		}
		if listener, is := s.channels[name].(Listener); is {
			view.LastError = cmp.Or(listener.LastError(), view.LastError)
		}
		list.Data = append(list.Data, view)
	}
	return list, nil
}

// newestError returns the error of the newest effect of a query that has one.
func (s *Service) newestError(ctx context.Context, q reads.EffectQuery) (string, error) {
	effects, err := s.options.Reader.Effects(ctx, q)
	if !q.Newest {
		slices.Reverse(effects)
	}
	for i := range effects {
		if found := effects[i].LastError; found != "" && !model.HeldBack(found) {
			return found, nil
		}
	}
	return "", err
}

// Test sends a test message. The address of a browser is its id, and must be the caller's. Errors:
// channel_not_found; invalid_request; errors of the store.
func (s *Service) Test(ctx context.Context, name, address string) (api.ChannelTest, error) {
	channel := s.channels[name]
	if channel == nil {
		return api.ChannelTest{}, refusal.New(api.CodeChannelNotFound, "there is no such channel")
	}
	address, err := s.testAddress(ctx, channel, address)
	if err != nil {
		return api.ChannelTest{}, err
	}
	if address == "" {
		var faults refusal.Faults
		faults.Add("/address", "is not an address of this channel")
		return api.ChannelTest{}, faults.Err()
	}
	s.options.Logger.InfoContext(ctx, "channel is tested", channelAttr(name), slog.String("by", runs.CallerOf(ctx)))
	if err := channel.Send(ctx, address, s.testMessage()); err != nil {
		return api.ChannelTest{Error: err.Error()}, nil //nolint:nilerr // a failure is what the test was for
	}
	return api.ChannelTest{Delivered: true}, nil
}

// testAddress returns the address to which a test message is sent, or "" for one that is invalid.
func (s *Service) testAddress(ctx context.Context, channel Channel, address string) (string, error) {
	if channel.Kind() != api.ChannelPush {
		if len(address) > api.MaxAddressLength || channel.CheckAddress(address) != nil {
			address = ""
		}
		return address, nil
	}
	all, err := s.options.Store.Addresses(ctx, []string{runs.CallerOf(ctx)})
	for i := range all {
		if all[i].AddressID == address && all[i].Channel == api.PushChannel {
			return all[i].Address, err
		}
	}
	return "", err
}
