package notify

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Press is a press of a button in a message.
type Press struct {
	// Address is the address of the person who pressed, as the channel authenticated it.
	Address string
	// Secret is what the button carried.
	Secret   string
	Behavior api.Behavior
}

// PressReply is said to the person who pressed, and to nobody else. It is empty if the decision was
// recorded, which the message will say.
type PressReply struct{ Text, Link string }

// Texts of press replies.
const (
	pressDead      = "This button does not work any more. Open the request in holdpoint."
	pressForbidden = "This button is for another person. Sign in to holdpoint to decide as yourself."
	pressSignIn    = "Sign in to holdpoint first."
	pressLost      = "You may not decide this request any more."
	pressChanged   = "The message does not show what would be allowed now. Open the request in holdpoint."
	pressFailed    = "Your decision could not be recorded. Press again, or open the request in holdpoint."
)

// Listeners returns a function for each channel with buttons. Each takes presses until its context ends.
func (s *Service) Listeners() (all []func(context.Context) error) {
	for _, name := range s.Channels() {
		if listener, is := s.channels[name].(Listener); is && s.options.Decide != nil {
			all = append(all, func(ctx context.Context) error {
				return listener.Listen(ctx, func(ctx context.Context, p *Press) PressReply { return s.press(ctx, name, p) })
			})
		}
	}
	return all
}

// press decides a request as the person of a button, if that is who pressed. A repeated press changes
// nothing and is told the recorded decision.
func (s *Service) press(ctx context.Context, channel string, p *Press) (reply PressReply) {
	inbox := s.options.ExternalURL
	if err := s.safely("a press", func() error {
		reply = s.pressOnce(ctx, channel, p, inbox)
		return nil
	}); err != nil {
		return PressReply{pressFailed, inbox}
	}
	return reply
}

func (s *Service) pressOnce(ctx context.Context, channel string, p *Press, inbox string) PressReply {
	if !auth.WellFormedLink(p.Secret) {
		return PressReply{pressDead, inbox}
	}
	row, err := s.options.Store.LinkByHash(ctx, auth.HashOf(p.Secret))
	switch {
	case err != nil:
		return s.pressFailed(ctx, channel, err, inbox)
	case row == nil || row.Channel != channel:
		return PressReply{pressDead, inbox}
	}
	owner, err := s.ownsAddress(ctx, row, p.Address)
	if err != nil {
		return s.pressFailed(ctx, channel, err, inbox)
	}
	if !owner {
		s.noteForeignPress(ctx, row)
		return PressReply{pressForbidden, inbox}
	}
	_, link := s.linkTo(row.RequestHandle)
	if row.ExpiresAtMs <= s.options.NowMs() {
		return PressReply{pressDead, link}
	}
	found, err := s.options.Reader.DecisionByHandle(ctx, row.RequestHandle)
	switch {
	case refusal.CodeOf(err) == api.CodeRequestNotFound:
		return PressReply{pressDead, inbox}
	case err != nil:
		return s.pressFailed(ctx, channel, err, link)
	}
	reply, err := s.decide(ctx, row, &found.Request, p)
	if err != nil {
		return s.pressFailed(ctx, channel, err, link)
	}
	if reply != "" {
		return PressReply{reply, link}
	}
	return PressReply{}
}

// ownsAddress reports whether the verified address of a link is this one.
func (s *Service) ownsAddress(ctx context.Context, row *LinkRow, address string) (bool, error) {
	all, err := s.options.Store.Addresses(ctx, []string{row.Principal})
	return slices.ContainsFunc(all, func(a Address) bool {
		return a.AddressID == row.AddressID && a.VerifiedAtMs != 0 && a.Address == address
	}), err
}

// decide issues the command of a press. It returns why the decision was refused.
func (s *Service) decide(ctx context.Context, row *LinkRow, request *model.Request, p *Press) (refused string, err error) {
	record, err := s.options.Reader.Run(ctx, request.RunID)
	if err != nil {
		return "", err
	}
	person, decides, err := s.decider(ctx, row.Principal, &record.Run, request)
	switch {
	case err != nil:
		return "", err
	case !decides:
		return pressLost, nil
	case !request.Open():
		return "Already decided: " + SettledText(request) + ".", nil
	case person == nil:
		return pressSignIn, nil
	case request.Kind != model.KindApproval || p.Behavior != api.BehaviorAllow && p.Behavior != api.BehaviorDeny:
		return pressDead, nil
	}
	digest := request.Approval().InputDigest
	// An operator who turns content off turns it off for the messages that were sent as well.
	shown := s.channels[row.Channel].Summary() && row.CodeHash != "" && subtle.ConstantTimeCompare([]byte(codeHash(p.Secret, digest)), []byte(row.CodeHash)) == 1
	if p.Behavior == api.BehaviorAllow && !shown {
		return pressChanged, nil
	}
	actor := runs.ActorOf(person, string(s.channels[row.Channel].Kind()))
	err = s.options.Decide(auth.With(ctx, person), &runs.ResolveApprovals{RunID: request.RunID, Actor: actor, Resolutions: []runs.ApprovalDecision{{
		RequestID: request.RequestID, Handle: request.Handle, InputDigest: digest, Behavior: p.Behavior,
	}}})
	return pressRefusal(err)
}

// pressRefusal returns the text of a refusal, or the error of a failure.
func pressRefusal(err error) (string, error) {
	var refused *refusal.Error
	if !errors.As(err, &refused) {
		return "", err
	}
	switch recorded := refused.Recorded; {
	case recorded != nil:
		return "Already decided: " + settledText(recorded.Outcome, recorded.ResolvedBy) + ".", nil
	case refused.Code == api.CodeApprovalChanged:
		return pressChanged, nil
	case refused.Code == api.CodeRequesterExcluded:
		return "You cannot allow this request: it excludes everyone who asked for it. You may deny it.", nil
	case refused.Code == api.CodeInvalidToken, refused.Code == api.CodeForbidden, refused.Code == api.CodeRunNotFound:
		return pressLost, nil
	}
	return pressDead, nil
}

func (s *Service) pressFailed(ctx context.Context, channel string, err error, link string) PressReply {
	s.options.Logger.WarnContext(ctx, "a press could not be recorded", channelAttr(channel), errorAttr(err))
	return PressReply{pressFailed, link}
}

// noteForeignPress records that somebody pressed a button of another person: in the log always, and in the
// audit once for each message.
func (s *Service) noteForeignPress(ctx context.Context, row *LinkRow) {
	s.options.Logger.WarnContext(ctx, "a button was pressed by another person than its own", channelAttr(row.Channel), slog.String("principal", row.Principal), slog.String("session_id", row.SessionID))
	nowMs := s.options.NowMs()
	entry := auth.EntryBy(nil, nowMs, api.AuditEvent{
		Type: api.AuditPressRefused, Principal: row.Principal, AddressID: row.AddressID, Channel: row.Channel, SessionID: row.SessionID,
	})
	if err := s.options.Store.NoteLink(ctx, row.TokenHash, nowMs, entry); err != nil {
		s.options.Logger.WarnContext(ctx, "the press could not be recorded in the audit", channelAttr(row.Channel), errorAttr(err))
	}
}
