package notify

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// LinkPath is the path of links, before the secret.
const LinkPath = "/l/"

// LinkRow is a row of links. Neither the link nor its code can be derived from it.
type LinkRow struct {
	TokenHash     string
	Principal     string
	AddressID     string
	Channel       string
	SessionID     string
	RequestHandle string
	// CodeHash is "" for a link without a code. The code of a button that allows is the digest of the input that
	// its message shows.
	CodeHash    string
	Tries       int64 // wrong codes
	CreatedAtMs int64
	ExpiresAtMs int64
}

// LinkStore stores links. It returns the same errors as [Store].
type LinkStore interface {
	// AddLink inserts a link, and deletes some of the expired ones.
	AddLink(ctx context.Context, l *LinkRow) error
	// LinkByHash returns a link to a verified address of its person, or nil.
	LinkByHash(ctx context.Context, tokenHash string) (*LinkRow, error)
	// TryLink adds count to the tries of a link of a person. It returns false, and changes nothing, if no try is
	// left of the link, or of all links of the person, or the link has expired. With the link's last try it
	// writes the entry.
	TryLink(ctx context.Context, principal, tokenHash string, count, nowMs int64, entry *journal.Entry) (bool, error)
	// NoteLink writes the entry unless a link has one, whatever tries are left.
	NoteLink(ctx context.Context, tokenHash string, nowMs int64, entry *journal.Entry) error
}

// codeHash is the hash of a code of a link, by its secret, or of an address, by its id. A link's secret is not stored, so
// the hash of its code does not reveal the code.
func codeHash(owner, code string) string {
	sum := sha256.Sum256([]byte(owner + " " + code))
	return hex.EncodeToString(sum[:])
}

// addLink gives a message about a request a link of its own. A retry gets another one, because a secret
// is stored nowhere; both work. A message about several requests keeps the link to the inbox.
func (s *Service) addLink(ctx context.Context, channel Channel, to *Address, request *model.Request, m *Message) error {
	mode := channel.Links()
	linked := mode != api.LinkNone && m.Link != ""
	if !linked {
		m.Link = ""
		m.compose()
	}
	if m.Kind == kindFlood || !linked && m.Buttons == nil {
		return nil
	}
	secret, nowMs := auth.NewLinkSecret(), s.options.NowMs()
	row := &LinkRow{
		TokenHash: auth.HashOf(secret), Principal: to.Principal, AddressID: to.AddressID, Channel: to.Channel, SessionID: request.SessionID,
		RequestHandle: request.Handle, CreatedAtMs: nowMs, ExpiresAtMs: nowMs + api.LinkMs,
	}
	if mode == api.LinkCode {
		code, err := newCode(4)
		if err != nil {
			return err
		}
		m.Code = code
		row.CodeHash = codeHash(secret, m.Code)
	}
	if m.Buttons != nil {
		m.Buttons.Secret = secret
		if m.Buttons.Allow {
			row.CodeHash = codeHash(secret, request.Approval().InputDigest)
		}
	}
	if err := s.options.Store.AddLink(ctx, row); err != nil || !linked {
		return err
	}
	m.Link = s.options.ExternalURL + LinkPath + secret
	m.compose()
	return nil
}

// Link is a link that works: the person of the message may decide the open request now, or once they have signed in.
type Link struct {
	Request *model.Request
	Run     *model.Run
	// Person is the identity with which the person of the message decides; nil if they have to sign in first.
	Person *auth.Identity
	// Via is the via of decisions by the link.
	Via string
	// TakesCode says that the person may decide by the code of the message, without a sign-in.
	TakesCode bool

	row    *LinkRow
	secret string
}

func unknownLink() error {
	return refusal.New(api.CodeLinkNotFound, "this link does not work, or works no longer")
}

// Link returns the link with a secret. It changes nothing. Errors: link_not_found for every reason; errors
// of the store.
func (s *Service) Link(ctx context.Context, secret string) (*Link, error) {
	if !auth.WellFormedLink(secret) {
		return nil, unknownLink()
	}
	row, err := s.options.Store.LinkByHash(ctx, auth.HashOf(secret))
	if err != nil {
		return nil, err
	}
	channel := s.channelOf(row)
	if channel == nil || row.Tries >= api.LinkCodeTries || row.ExpiresAtMs <= s.options.NowMs() {
		return nil, unknownLink()
	}
	request, run, err := s.open(ctx, row.RequestHandle)
	if err != nil {
		return nil, err
	}
	if request == nil {
		return nil, unknownLink()
	}
	person, decides, err := s.decider(ctx, row.Principal, run, request)
	if err != nil {
		return nil, err
	}
	if !decides {
		return nil, unknownLink()
	}
	return &Link{
		Request: request, Run: run, Person: person, Via: api.ViaLink + string(channel.Kind()),
		// An operator who turns codes off turns them off for the messages that were sent as well.
		TakesCode: person != nil && row.CodeHash != "" && channel.Links() == api.LinkCode,
		row:       row, secret: secret,
	}, nil
}

// decider returns the identity with which the person of a message decides an open request. It is nil if they have to sign
// in first, or if they may not decide. The identity of an issuer outlasts the sign-in: its person is still notified.
func (s *Service) decider(ctx context.Context, principal string, run *model.Run, request *model.Request) (person *auth.Identity, decides bool, err error) {
	if s.options.ByLink == nil {
		return nil, false, nil
	}
	if person, err = s.options.ByLink(ctx, principal, run); person != nil || err != nil {
		return person, err == nil, err
	}
	deciders, err := s.options.Deciders(ctx, run, request)
	return nil, slices.Contains(deciders, principal), err
}

// channelOf returns the channel of a link unless it has no links any more.
func (s *Service) channelOf(row *LinkRow) Channel {
	if row == nil {
		return nil
	}
	channel := s.channels[row.Channel]
	if channel == nil || channel.Links() == api.LinkNone {
		return nil
	}
	return channel
}

// EnterCode reports whether a code is the one that was printed next to the link. A wrong one counts, and
// left is how many more the link takes: none as well, whatever the code is, after too many wrong codes for
// all links of the person. Errors: link_not_found if the link had none left; errors of the store.
func (s *Service) EnterCode(ctx context.Context, link *Link, code string) (right bool, left int64, err error) {
	if !link.TakesCode {
		return false, 0, unknownLink()
	}
	row := link.row
	right = subtle.ConstantTimeCompare([]byte(codeHash(link.secret, code)), []byte(row.CodeHash)) == 1
	wrong := int64(1)
	if right {
		wrong = 0
	}
	nowMs := s.options.NowMs()
	entry := auth.EntryBy(nil, nowMs, api.AuditEvent{
		Type: api.AuditLinkLocked, Principal: row.Principal, AddressID: row.AddressID, Channel: row.Channel, SessionID: row.SessionID,
	})
	tried, err := s.options.Store.TryLink(ctx, row.Principal, row.TokenHash, wrong, nowMs, entry)
	if err != nil || tried && right {
		return tried, 0, err
	}
	again, err := s.options.Store.LinkByHash(ctx, row.TokenHash)
	switch {
	case err != nil:
		return false, 0, err
	case tried && again != nil:
		return false, max(api.LinkCodeTries-again.Tries, 0), nil
	case again != nil && again.Tries < api.LinkCodeTries && again.ExpiresAtMs > nowMs:
		s.options.Logger.WarnContext(ctx, "no more codes are taken from the links of a person", slog.String("principal", row.Principal))
		return false, 0, nil
	}
	return false, 0, unknownLink()
}
