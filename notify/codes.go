package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CodeCount is a row of code_counts: the codes sent because of one person, or to one destination. It
// outlives the address, so removing an address does not allow another code.
type CodeCount struct {
	// Subject is a person, or the hash of a destination.
	Subject string
	// SinceMs is when the first of Sent codes was sent, LastMs when the last was.
	SinceMs, Sent, LastMs int64
	// Mark is random and different after each change. It is empty if there is no row.
	Mark string
}

// CodeCounts are the two counts of a code.
type CodeCounts struct{ Destination, Person CodeCount }

// SubjectOfPerson returns the subject of a person's count.
func SubjectOfPerson(principal string) string { return "person:" + principal }

// subjectOfDestination returns the same subject for the spellings of one mailbox.
func subjectOfDestination(kind api.ChannelKind, channel, address string) string {
	name := "http " + channel + " " + address
	if kind == api.ChannelEmail {
		at := strings.LastIndexByte(address, '@')
		mailbox, _, _ := strings.Cut(address[:max(at, 0)], "+")
		name = strings.ToLower("email " + mailbox + address[max(at, 0):])
	}
	sum := sha256.Sum256([]byte(name))
	return "address:" + hex.EncodeToString(sum[:])
}

// codeFacts are the input of decideCode.
type codeFacts struct {
	nowMs  int64
	counts CodeCounts
	// others is the number of other addresses of the person.
	others int
}

// decideCode decides whether a code may be sent, and returns the counts with it. mark is random.
// Errors: too_many_addresses; too_many_codes.
func decideCode(f *codeFacts, mark string) (CodeCounts, error) {
	if f.others >= api.MaxAddresses {
		return CodeCounts{}, refusal.New(api.CodeTooManyAddresses, "you have %d addresses: remove one", api.MaxAddresses)
	}
	destination, person := within(f.counts.Destination, f.nowMs), within(f.counts.Person, f.nowMs)
	switch {
	case destination.Sent > 0 && f.nowMs < destination.LastMs+api.AddressCodePauseMs:
		return CodeCounts{}, refusal.TooSoon(api.CodeTooManyCodes, destination.LastMs+api.AddressCodePauseMs-f.nowMs, "a code was sent to this address less than a minute ago")
	case destination.Sent >= api.AddressCodesOfDestination:
		return CodeCounts{}, refusal.TooSoon(api.CodeTooManyCodes, destination.SinceMs+api.AddressCodeWindowMs-f.nowMs,
			"%d codes were sent to this address within a day", api.AddressCodesOfDestination)
	case person.Sent >= api.AddressCodesOfPerson:
		return CodeCounts{}, refusal.TooSoon(api.CodeTooManyCodes, person.SinceMs+api.AddressCodeWindowMs-f.nowMs,
			"you had %d codes sent within a day", api.AddressCodesOfPerson)
	}
	for _, count := range []*CodeCount{&destination, &person} {
		if count.Sent == 0 {
			count.SinceMs = f.nowMs
		}
		count.Sent++
		count.LastMs, count.Mark = f.nowMs, mark
	}
	return CodeCounts{Destination: destination, Person: person}, nil
}

// within returns a count, restarted if its period is over.
func within(count CodeCount, nowMs int64) CodeCount {
	if count.Sent > 0 && nowMs >= count.SinceMs+api.AddressCodeWindowMs {
		count.Sent, count.SinceMs = 0, 0
	}
	return count
}
