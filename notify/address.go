package notify

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
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
	CodeSentAtMs int64
	CreatedAtMs  int64
}

// View returns the address as shown to its owner.
func (a *Address) View() api.Address {
	return api.Address{AddressID: a.AddressID, Channel: a.Channel, Address: a.Address, VerifiedAtMs: a.VerifiedAtMs, CreatedAtMs: a.CreatedAtMs}
}

// Store stores addresses and counts the messages sent to each person. Each method may return an
// error that wraps runs.ErrUnavailable or runs.ErrClosed, or the context's error.
type Store interface {
	// AddAddress writes an address with a code. If the address exists and is not verified, it
	// replaces a code older than api.AddressCodePauseMs. It returns false if it wrote nothing.
	AddAddress(ctx context.Context, a *Address, entry *journal.Entry) (bool, error)
	// Addresses returns the addresses of these principals, oldest first.
	Addresses(ctx context.Context, principals []string) ([]Address, error)
	// TryCode counts a try of the code of an unverified address. It returns false if no try is left
	// or the code has expired.
	TryCode(ctx context.Context, principal, addressID string, nowMs int64) (bool, error)
	// VerifyAddress verifies an address if the hash matches its code, and returns whether it did.
	VerifyAddress(ctx context.Context, principal, addressID, codeHash string, nowMs int64, entry *journal.Entry) (bool, error)
	// RemoveAddress deletes an address and returns whether it existed.
	RemoveAddress(ctx context.Context, principal, addressID string, entry *journal.Entry) (bool, error)
	// CountNotice counts a message to a person. It returns the number of messages within
	// api.FloodMs including this one, or 0 if the message must not be sent.
	CountNotice(ctx context.Context, principal string, nowMs int64) (int64, error)
}

// newCode returns a random code of six digits.
func newCode() (string, error) {
	number, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%06d", number.Int64()), nil
}

func hashOf(addressID, code string) string {
	sum := sha256.Sum256([]byte(addressID + " " + code))
	return hex.EncodeToString(sum[:])
}

func unknownAddress() error {
	return refusal.New(api.CodeAddressNotFound, "you have no such address")
}

// Add adds an address of the caller and sends a code to it. A verified address stays verified.
// Errors: invalid_request; channel_unknown; too_many_addresses, also if the last code is less than
// a minute old; channel_unavailable if the code could not be sent; errors of the store.
func (s *Service) Add(ctx context.Context, principal string, body *api.AddressBody) (api.Address, error) {
	channel := s.channels[body.Channel]
	if channel == nil {
		return api.Address{}, refusal.New(api.CodeChannelUnknown, "this service has no such channel")
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
	if err := faults.Err(); err != nil {
		return api.Address{}, err
	}
	known, err := s.find(ctx, principal, body)
	if err != nil {
		return api.Address{}, err
	}
	if known != nil && known.VerifiedAtMs != 0 {
		return known.View(), nil
	}
	nowMs := s.options.NowMs()
	made := &Address{Principal: principal, Channel: body.Channel, Address: body.Address, CreatedAtMs: nowMs, CodeSentAtMs: nowMs, CodeUntilMs: nowMs + api.AddressCodeMs}
	if made.AddressID = s.options.NewID(PrefixAddress); known != nil {
		made.AddressID, made.CreatedAtMs = known.AddressID, known.CreatedAtMs
	}
	code, err := newCode()
	if err != nil {
		return api.Address{}, err
	}
	made.CodeHash = hashOf(made.AddressID, code)
	entry := auth.EntryBy(auth.From(ctx), nowMs, api.AuditEvent{Type: api.AuditAddressAdded, AddressID: made.AddressID, Channel: made.Channel})
	switch added, err := s.options.Store.AddAddress(ctx, made, entry); {
	case err != nil:
		return api.Address{}, err
	case !added:
		return api.Address{}, refusal.New(api.CodeTooManyAddresses, "you have %d addresses, or a code was sent to this one less than a minute ago", api.MaxAddresses)
	}
	if err := channel.Send(ctx, made.Address, codeMessage(made.AddressID, code)); err != nil {
		s.options.Logger.WarnContext(ctx, "the code of an address could not be sent", channelAttr(made.Channel), errorAttr(err))
		return api.Address{}, refusal.New(api.CodeChannelUnavailable, "the code could not be sent: %v", err)
	}
	return made.View(), nil
}

// find returns an address of the caller, or nil.
func (s *Service) find(ctx context.Context, principal string, body *api.AddressBody) (*Address, error) {
	all, err := s.options.Store.Addresses(ctx, []string{principal})
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Channel == body.Channel && all[i].Address == body.Address {
			return &all[i], nil
		}
	}
	return nil, nil
}

// List returns the addresses of a person.
func (s *Service) List(ctx context.Context, principal string) (api.AddressList, error) {
	all, err := s.options.Store.Addresses(ctx, []string{principal})
	list := api.AddressList{Data: make([]api.Address, 0, len(all))}
	for i := range all {
		list.Data = append(list.Data, all[i].View())
	}
	return list, err
}

// Verify verifies an address by its code. Errors: address_not_found; address_code_wrong, also for a
// code that has expired or was tried too often; errors of the store.
func (s *Service) Verify(ctx context.Context, principal, addressID, code string) (api.Address, error) {
	address, err := s.own(ctx, principal, addressID)
	if err != nil || address.VerifiedAtMs != 0 {
		return address, err
	}
	nowMs := s.options.NowMs()
	left, err := s.options.Store.TryCode(ctx, principal, addressID, nowMs)
	if err != nil {
		return api.Address{}, err
	}
	if !left {
		return api.Address{}, refusal.New(api.CodeAddressCodeWrong, "the code works no longer: add the address again to get another one")
	}
	entry := auth.EntryBy(auth.From(ctx), nowMs, api.AuditEvent{Type: api.AuditAddressVerified, AddressID: addressID, Channel: address.Channel})
	verified, err := s.options.Store.VerifyAddress(ctx, principal, addressID, hashOf(addressID, code), nowMs, entry)
	if err != nil {
		return api.Address{}, err
	}
	if !verified {
		return api.Address{}, refusal.New(api.CodeAddressCodeWrong, "this is not the code that was sent to the address")
	}
	address.VerifiedAtMs = nowMs
	return address, nil
}

func (s *Service) own(ctx context.Context, principal, addressID string) (api.Address, error) {
	all, err := s.options.Store.Addresses(ctx, []string{principal})
	if err != nil {
		return api.Address{}, err
	}
	for i := range all {
		if all[i].AddressID == addressID {
			return all[i].View(), nil
		}
	}
	return api.Address{}, unknownAddress()
}

// Remove deletes an address. Errors: address_not_found; errors of the store.
func (s *Service) Remove(ctx context.Context, principal, addressID string) error {
	entry := auth.EntryBy(auth.From(ctx), s.options.NowMs(), api.AuditEvent{Type: api.AuditAddressRemoved, AddressID: addressID})
	removed, err := s.options.Store.RemoveAddress(ctx, principal, addressID, entry)
	if err == nil && !removed {
		err = unknownAddress()
	}
	return err
}
