package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CodeCount is a row of code_counts: the codes that one person had sent, all to one destination, or both. It
// outlives the address, so removing an address does not allow another code.
type CodeCount struct {
	// Subject is a person, the hash of a destination, or the hash of both.
	Subject string
	// SinceMs is when the first of Sent codes was sent, LastMs when the last was.
	SinceMs, Sent, LastMs int64
	// Mark is random and different after each change. It is empty before the first code.
	Mark string
}

// CodeCounts are the counts of a code. Person is who had it sent, which for an address that an admin adds is not its
// owner: nobody uses up the codes of somebody else. Pair has the codes of that person to the destination.
type CodeCounts struct{ Destination, Person, Pair CodeCount }

// SubjectOfPerson returns the subject of a person's count.
func SubjectOfPerson(principal string) string { return "person:" + principal }

// SubjectOfAddresses returns the subject that is locked while somebody's addresses are counted.
func SubjectOfAddresses(principal string) string { return "addresses:" + principal }

// countsOf returns the counts of a first code.
func countsOf(caller, destination string) CodeCounts {
	sum := sha256.Sum256([]byte(destination + " " + caller))
	return CodeCounts{
		Destination: CodeCount{Subject: destination}, Person: CodeCount{Subject: SubjectOfPerson(caller)},
		Pair: CodeCount{Subject: "pair:" + hex.EncodeToString(sum[:])},
	}
}

// all returns the counts.
func (c *CodeCounts) all() []*CodeCount { return []*CodeCount{&c.Destination, &c.Person, &c.Pair} }

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
	// others is the number of other addresses of the owner, who may have most.
	others, most int
}

// mostAddresses returns how many addresses a person may have once the caller has added one. An admin leaves room for
// the person's own.
func mostAddresses(caller, principal string) int {
	if caller != principal {
		return api.MaxAddedAddresses
	}
	return api.MaxAddresses
}

// decideCode decides whether a code may be sent, and returns the counts with it. mark is random.
// Errors: too_many_addresses; too_many_codes.
func decideCode(f *codeFacts, mark string) (CodeCounts, error) {
	switch {
	case f.others >= f.most && f.most == api.MaxAddresses:
		return CodeCounts{}, refusal.New(api.CodeTooManyAddresses, "you have %d addresses: remove one", api.MaxAddresses)
	case f.others >= f.most:
		return CodeCounts{}, refusal.New(api.CodeTooManyAddresses, "the person has %d addresses or more: only they may add others", f.most)
	}
	after := f.counts
	for _, count := range after.all() {
		*count = within(*count, f.nowMs)
	}
	destination, person := &after.Destination, &after.Person
	switch {
	case destination.Sent > 0 && f.nowMs < destination.LastMs+api.AddressCodePauseMs && destination.LastMs <= f.nowMs+api.AddressCodePauseMs:
		return CodeCounts{}, refusal.TooSoon(api.CodeTooManyCodes, destination.LastMs+api.AddressCodePauseMs-f.nowMs, "a code was sent to this address less than a minute ago")
	case destination.Sent >= api.AddressCodesOfDestination && after.Pair.Sent > 0:
		// Somebody who has had none may be the owner of the mailbox, whose codes others have used up.
		return CodeCounts{}, refusal.TooSoon(api.CodeTooManyCodes, destination.SinceMs+api.AddressCodeWindowMs-f.nowMs,
			"%d codes were sent to this address within a day", api.AddressCodesOfDestination)
	case person.Sent >= api.AddressCodesOfPerson:
		return CodeCounts{}, refusal.TooSoon(api.CodeTooManyCodes, person.SinceMs+api.AddressCodeWindowMs-f.nowMs,
			"you had %d codes sent within a day", api.AddressCodesOfPerson)
	}
	for _, count := range after.all() {
		if count.Sent == 0 {
			count.SinceMs = f.nowMs
		}
		count.Sent++
		count.LastMs, count.Mark = f.nowMs, mark
	}
	return after, nil
}

// within returns a count, restarted if its period is over, or so far ahead that the clock was set back. A shorter step
// restarts nothing: two replicas whose clocks differ would restart it with each code, and there would be no limit.
func within(count CodeCount, nowMs int64) CodeCount {
	if count.Sent > 0 && (nowMs >= count.SinceMs+api.AddressCodeWindowMs || count.SinceMs > nowMs+api.AddressCodeWindowMs) {
		count.Sent, count.SinceMs = 0, 0
	}
	return count
}
