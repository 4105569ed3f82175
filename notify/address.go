package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// PrefixAddress is the prefix of address ids.
const PrefixAddress = "address"

// Address is a row of addresses.
type Address struct {
	AddressID    string
	Principal    string
	Channel      string
	Address      string
	VerifiedAtMs int64 // 0 until verified
	CodeHash     string
	CodeUntilMs  int64
	CodeTries    int64
	CreatedAtMs  int64
}

// View returns the address as shown to its owner.
func (a *Address) View() api.Address {
	return api.Address{AddressID: a.AddressID, Channel: a.Channel, Address: a.Address, VerifiedAtMs: a.VerifiedAtMs, CreatedAtMs: a.CreatedAtMs}
}

// Store stores addresses and counts the messages sent to each person. Each method may return an
// error that wraps runs.ErrUnavailable or runs.ErrClosed, or the context's error.
type Store interface {
	LinkStore
	SentStore
	// AddAddress writes an address with a code, or replaces the code of an address that is not
	// verified, together with the counts after it. It changes neither and returns false if the
	// counts are no longer those of before, the address was verified meanwhile, or the person has most other addresses.
	AddAddress(ctx context.Context, a *Address, most int, before, after *CodeCounts, entry *journal.Entry) (bool, error)
	// CodeCounts returns the existing counts of these subjects.
	CodeCounts(ctx context.Context, subjects *CodeCounts) ([]CodeCount, error)
	// DropCodeCounts deletes counts that started before a time.
	DropCodeCounts(ctx context.Context, beforeMs int64) error
	// Addresses returns the addresses of these principals, oldest first.
	Addresses(ctx context.Context, principals []string) ([]Address, error)
	// TryCode counts a try of the code of an unverified address. It returns false if no try is left
	// or the code has expired.
	TryCode(ctx context.Context, principal, addressID string, nowMs int64) (bool, error)
	// VerifyAddress verifies an address if the hash matches its code, and returns whether it did. With
	// only, the subject of its destination, it does not if another person has verified the same address.
	VerifyAddress(ctx context.Context, a *Address, codeHash, only string, nowMs int64, entry *journal.Entry) (bool, error)
	// AddSubscription writes a verified address, or moves one with the same id to this person. It
	// writes nothing and returns false if the person has too many others.
	AddSubscription(ctx context.Context, a *Address, entry *journal.Entry) (bool, error)
	// RemoveAddress deletes an address and returns whether it existed.
	RemoveAddress(ctx context.Context, principal, addressID string, entry *journal.Entry) (bool, error)
	// CountNotice counts a message to a person, once for each id, and returns its number among those of the last
	// api.FloodMs. A number above api.FloodMessages is for the message that counts all of them; 0
	// says that the message must not be sent before holdMs, or at all if holdMs is 0. See [NoticeCount.Count].
	// It writes the row of the notice in the transaction in which its message becomes the one that counts all.
	CountNotice(ctx context.Context, principal string, notice *NoticeToCount, nowMs int64) (number, holdMs int64, err error)
	// QuietHours returns the quiet hours of a person, or nil.
	QuietHours(ctx context.Context, principal string) (*QuietHours, error)
	// SetQuietHours writes the quiet hours of a person, or deletes them if they are nil.
	SetQuietHours(ctx context.Context, principal string, hours *QuietHours) error
	// Presence returns until when a person counts as looking at their inbox; 0 if they never did or have left it.
	Presence(ctx context.Context, principal string) (untilMs int64, err error)
	// SetPresence writes what Presence returns, and the request that the person has open meanwhile. One from before stays
	// if the presence ends after keepAfterMs.
	SetPresence(ctx context.Context, person *reads.Viewer, untilMs, keepAfterMs int64) error
	// Viewers returns the people who have a request open, by principal, at most maxViewers.
	Viewers(ctx context.Context, nowMs int64, maxViewers int) ([]reads.Viewer, error)
}

// newCode returns a random code of at most 18 digits.
func newCode(digits int) (string, error) {
	end := int64(1)
	for range digits {
		end *= 10
	}
	number, err := rand.Int(rand.Reader, big.NewInt(end))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%0*d", digits, number.Int64()), nil
}

func unknownAddress() error {
	return refusal.New(api.CodeAddressNotFound, "you have no such address")
}

// Add adds an address of a person, the caller unless the body names another one, and sends a code to it. Only the
// person can verify it. A verified address stays verified.
// Errors: invalid_request; channel_unknown; too_many_addresses; too_many_codes; channel_unavailable if
// the code could not be sent; errors of the store.
func (s *Service) Add(ctx context.Context, caller string, body *api.AddressBody) (api.Address, error) {
	channel := s.channels[body.Channel]
	if channel == nil {
		return api.Address{}, refusal.New(api.CodeChannelUnknown, "no such channel; this service has %s", strings.Join(s.Channels(), ", "))
	}
	var faults refusal.Faults
	switch {
	case body.Address == "" || len(body.Address) > api.MaxAddressLength || !utf8.ValidString(body.Address):
		faults.Add("/address", "must have 1 to %d bytes", api.MaxAddressLength)
	default:
		if err := channel.CheckAddress(body.Address); err != nil {
			faults.Add("/address", "%s", err.Error())
		}
	}
	principal := cmp.Or(body.Principal, caller)
	if principal != caller && !(auth.ValidPrincipal(principal) && strings.HasPrefix(principal, "user:")) {
		faults.Add("/principal", "must name a person, such as user:ada")
	}
	if err := faults.Err(); err != nil {
		return api.Address{}, err
	}
	made, code, err := s.addCode(ctx, caller, principal, body, channel.Kind())
	switch {
	case err != nil:
		return api.Address{}, err
	case made.VerifiedAtMs != 0:
		return made.View(), nil
	}
	if err := channel.Send(ctx, made.Address, codeMessage(made, caller, code)); err != nil {
		s.options.Logger.WarnContext(ctx, "the code of an address could not be sent", channelAttr(made.Channel), errorAttr(err))
		return api.Address{}, refusal.New(api.CodeChannelUnavailable, "the code could not be sent: %v", err)
	}
	return made.View(), nil
}

// addAttempts is how often an address is decided again because the counts changed in the meantime.
// In lockstep one caller succeeds each time, and an admin may add the addresses of many people at once.
const addAttempts = api.AddressCodesOfPerson

// addCode writes an address with a new code, and returns both. It returns a verified address as it is.
func (s *Service) addCode(ctx context.Context, caller, principal string, body *api.AddressBody, kind api.ChannelKind) (*Address, string, error) {
	if err := s.options.Store.DropCodeCounts(ctx, s.options.NowMs()-api.AddressCodeWindowMs); err != nil {
		return nil, "", err
	}
	for range addAttempts {
		made, facts, err := s.codeFacts(ctx, caller, principal, body, kind)
		if err != nil || made.VerifiedAtMs != 0 {
			return made, "", err
		}
		after, err := decideCode(facts, s.options.NewID("code"))
		if err != nil {
			return nil, "", err
		}
		code, err := newCode(6)
		if err != nil {
			return nil, "", err
		}
		made.CodeHash, made.CodeUntilMs = codeHash(made.AddressID, code), facts.nowMs+api.AddressCodeMs
		event := api.AuditEvent{Type: api.AuditAddressAdded, AddressID: made.AddressID, Channel: made.Channel}
		if principal != caller {
			event.Principal = principal
		}
		entry := auth.ChangeBy(auth.From(ctx), facts.nowMs, event)
		if added, err := s.options.Store.AddAddress(ctx, made, facts.most, &facts.counts, &after, entry); err != nil || added {
			return made, code, err
		}
	}
	return nil, "", fmt.Errorf("%w: other calls add addresses at the same time", runs.ErrUnavailable)
}

// codeFacts returns the address to add, or an existing one, and the facts for its code.
func (s *Service) codeFacts(ctx context.Context, caller, principal string, body *api.AddressBody, kind api.ChannelKind) (*Address, *codeFacts, error) {
	nowMs := s.options.NowMs()
	made := &Address{Principal: principal, Channel: body.Channel, Address: body.Address, CreatedAtMs: nowMs, AddressID: s.options.NewID(PrefixAddress)}
	facts := &codeFacts{
		nowMs: nowMs, most: mostAddresses(caller, principal), counts: countsOf(caller, subjectOfDestination(kind, body.Channel, body.Address)),
	}
	all, err := s.options.Store.Addresses(ctx, []string{principal})
	if err != nil {
		return nil, nil, err
	}
	facts.others = len(all)
	for i := range all {
		if all[i].Channel == body.Channel && all[i].Address == body.Address {
			made = &all[i]
			facts.others--
		}
	}
	counts, err := s.options.Store.CodeCounts(ctx, &facts.counts)
	if err != nil {
		return nil, nil, err
	}
	for _, found := range counts {
		for _, count := range facts.counts.all() {
			if count.Subject == found.Subject {
				*count = found
			}
		}
	}
	return made, facts, nil
}

// List returns the addresses of a person, and the channels that take more.
func (s *Service) List(ctx context.Context, principal string) (api.AddressList, error) {
	all, err := s.options.Store.Addresses(ctx, []string{principal})
	list := api.AddressList{Data: make([]api.Address, 0, len(all)), Channels: []api.AddressChannel{}}
	for _, name := range s.Channels() {
		if kind := s.channels[name].Kind(); kind != api.ChannelPush {
			list.Channels = append(list.Channels, api.AddressChannel{Name: name, Kind: kind})
		}
	}
	for i := range all {
		list.Data = append(list.Data, s.view(&all[i]))
	}
	return list, err
}

// Verify verifies an address by its code. Errors: address_not_found; address_code_wrong, also for a
// code that has expired or was tried too often; address_taken; errors of the store.
func (s *Service) Verify(ctx context.Context, principal, addressID, code string) (api.Address, error) {
	address, err := s.own(ctx, principal, addressID)
	switch {
	case err != nil:
		return api.Address{}, err
	case address.VerifiedAtMs != 0:
		return s.view(address), nil
	}
	nowMs := s.options.NowMs()
	left, err := s.options.Store.TryCode(ctx, principal, addressID, nowMs)
	if err != nil {
		return api.Address{}, err
	}
	if !left {
		return s.notVerified(ctx, address, "")
	}
	entry := auth.ChangeBy(auth.From(ctx), nowMs, api.AuditEvent{Type: api.AuditAddressVerified, AddressID: addressID, Channel: address.Channel})
	hash := codeHash(addressID, code)
	verified, err := s.options.Store.VerifyAddress(ctx, address, hash, s.only(address), nowMs, entry)
	if err != nil {
		return api.Address{}, err
	}
	if !verified {
		return s.notVerified(ctx, address, hash)
	}
	address.VerifiedAtMs = nowMs
	s.changed(ctx)
	return s.view(address), nil
}

// only returns the subject of an address that only one person may verify, or "". A Slack user whose presses
// count must be one person.
func (s *Service) only(a *Address) string {
	channel := s.channels[a.Channel]
	if channel == nil || channel.Kind() != api.ChannelSlack {
		return ""
	}
	return subjectOfDestination(channel.Kind(), a.Channel, a.Address)
}

func codeEnded() error {
	return refusal.WrongCode(api.CodeAddressCodeWrong, 0, "the code works no longer: add the address again to get another one")
}

// notVerified answers a call that did not verify an address: with the address if another call has verified it
// meanwhile, as a later call would get it, else with the reason. hash is the hash of the code that was tried, or "" if no
// try was left. Only the right code shows that another person has the address.
func (s *Service) notVerified(ctx context.Context, a *Address, hash string) (api.Address, error) {
	now, err := s.own(ctx, a.Principal, a.AddressID)
	if err != nil {
		return api.Address{}, err
	}
	left := api.AddressCodeTries - now.CodeTries
	switch {
	case now.VerifiedAtMs != 0:
		return s.view(now), nil
	case hash != "" && now.CodeHash == hash:
		err = refusal.New(api.CodeAddressTaken, "another person of this service has verified this address, and must remove it first")
	case hash == "" || left == 0:
		err = codeEnded()
	default:
		err = refusal.WrongCode(api.CodeAddressCodeWrong, left, "this is not the code that was sent to the address: %s left", tries(left))
	}
	return api.Address{}, err
}

func tries(n int64) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

func (s *Service) own(ctx context.Context, principal, addressID string) (*Address, error) {
	all, err := s.options.Store.Addresses(ctx, []string{principal})
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].AddressID == addressID {
			return &all[i], nil
		}
	}
	return nil, unknownAddress()
}

// Remove deletes an address. Errors: address_not_found; errors of the store.
func (s *Service) Remove(ctx context.Context, principal, addressID string) error {
	entry := auth.ChangeBy(auth.From(ctx), s.options.NowMs(), api.AuditEvent{Type: api.AuditAddressRemoved, AddressID: addressID})
	removed, err := s.options.Store.RemoveAddress(ctx, principal, addressID, entry)
	if err == nil && !removed {
		err = unknownAddress()
	}
	return err
}
