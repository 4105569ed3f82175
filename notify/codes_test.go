package notify_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// Removing an address and adding it again sends no second code: otherwise anyone with an address book
// could fill a stranger's mailbox.
func TestAStrangerIsNotFloodedWithCodes(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		_, ada := s.as(t, api.CreateTokenBody{Name: "ada", Role: api.RoleOperator})
		_, ben := s.as(t, api.CreateTokenBody{Name: "ben", Role: api.RoleOperator})
		add := func(c *client.Client, address string) error {
			added, err := c.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: address})
			if err == nil {
				require.NoError(t, c.RemoveAddress(t.Context(), added.AddressID))
			}
			return err
		}
		tooMany := func(err error) {
			t.Helper()
			require.Positive(t, refused(t, err, api.CodeTooManyCodes).RetryAfter)
		}
		require.NoError(t, add(ada, "stranger@example.com"))
		tooMany(add(ada, "stranger@example.com"))
		tooMany(add(ben, "stranger@example.com"))
		tooMany(add(ben, "Stranger+again@EXAMPLE.com"))
		require.Len(t, s.mail.all(), 1, "one code, however often the address is removed, by however many people")
		// Nor many strangers by one person.
		var err error
		for n := range 100 {
			if err = add(ada, fmt.Sprintf("stranger-%d@example.com", n)); err != nil {
				break
			}
		}
		tooMany(err)
		require.Len(t, s.mail.all(), 32)
		require.NoError(t, add(ben, "ben@example.com"), "ada's codes do not count as ben's")
	})
}

// Many people add one address at the same moment: one code is sent, and the others are told to wait.
func TestOneCodeForManyAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		const people = 8
		errs := make(chan error, people)
		for n := range people {
			token, _, err := s.Keyring.Create(t.Context(), &api.CreateTokenBody{Name: fmt.Sprint("p", n), Role: api.RoleOperator}, "user:test", "")
			require.NoError(t, err)
			c := s.Connect(client.WithToken(token.Secret), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
			go func() {
				_, err := c.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: "stranger@example.com"})
				errs <- err
			}()
		}
		sent := 0
		for range people {
			if err := <-errs; err != nil {
				refused(t, err, api.CodeTooManyCodes)
				continue
			}
			sent++
		}
		require.Equal(t, 1, sent)
		require.Len(t, s.mail.all(), 1)
	})
}

// A person adds several addresses at the same moment: each gets its code.
func TestAddressesThatAreAddedAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		_, ada := s.as(t, api.CreateTokenBody{Name: "ada", Role: api.RoleOperator})
		const addresses = 4
		errs := make(chan error, addresses)
		for n := range addresses {
			go func() {
				_, err := ada.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: fmt.Sprintf("ada-%d@example.com", n)})
				errs <- err
			}()
		}
		for range addresses {
			require.NoError(t, <-errs)
		}
		require.Len(t, s.mail.all(), addresses)
	})
}

// An address that is not written uses up no code, whatever changed after its counts were read.
func TestAnAddressThatIsNotWrittenCountsNoCode(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		stored := storeAs[notify.Store](t, inprocess.Start(t, database, inprocess.Options{}).Store)
		const ada, nowMs = "user:ada", int64(1_000_000)
		// add adds an address, after a read that found these marks of the person and of the destination.
		add := func(name, person, destination string, most int) (added bool, sent int64) {
			t.Helper()
			before := notify.CodeCounts{
				Destination: notify.CodeCount{Subject: "address:" + name, Mark: destination},
				Person:      notify.CodeCount{Subject: notify.SubjectOfPerson(ada), Mark: person}, Pair: notify.CodeCount{Subject: "pair:" + name, Mark: destination},
			}
			after := before
			for _, count := range []*notify.CodeCount{&after.Destination, &after.Person, &after.Pair} {
				count.SinceMs, count.LastMs, count.Sent, count.Mark = nowMs, nowMs, 1, name
			}
			added, err := stored.AddAddress(t.Context(), &notify.Address{
				AddressID: "address_" + name, Principal: ada, Channel: "mail", Address: name, CodeHash: "hash", CodeUntilMs: 2 * nowMs, CreatedAtMs: nowMs,
			}, most, &before, &after, auth.EntryBy(nil, nowMs, api.AuditEvent{Type: api.AuditAddressAdded}))
			require.NoError(t, err)
			counts, err := stored.CodeCounts(t.Context(), &before)
			require.NoError(t, err)
			for _, count := range counts {
				if count.Subject != before.Person.Subject {
					sent += count.Sent
				}
			}
			return added, sent
		}
		requireAdded := func(want bool, wantSent int64) func(bool, int64) {
			return func(added bool, sent int64) {
				t.Helper()
				require.Equal(t, want, added)
				require.Equal(t, wantSent, sent, "of the destination, and of the person to it")
			}
		}
		requireAdded(true, 2)(add("first", "", "", 2))
		requireAdded(false, 0)(add("second", "", "", 2)) // the person's count has changed
		requireAdded(true, 2)(add("second", "first", "", 2))
		requireAdded(false, 0)(add("third", "second", "", 2)) // the person has two others
		verified, err := stored.VerifyAddress(t.Context(), &notify.Address{AddressID: "address_second", Principal: ada}, "hash", "", nowMs, auth.EntryBy(nil, nowMs, api.AuditEvent{Type: api.AuditAddressVerified}))
		require.NoError(t, err)
		require.True(t, verified)
		requireAdded(false, 2)(add("second", "second", "second", 2)) // it was verified
		again, err := stored.CodeCounts(t.Context(), &notify.CodeCounts{Person: notify.CodeCount{Subject: notify.SubjectOfPerson(ada)}})
		require.NoError(t, err)
		require.Equal(t, "second", again[0].Mark)
		all, err := stored.Addresses(t.Context(), []string{ada})
		require.NoError(t, err)
		require.Len(t, all, 2)
	})
}

// overtaken is a store in which another call verifies an address before the one that is going on counts its try, or
// before it verifies the address itself.
type overtaken struct {
	notify.Store
	beforeTry, beforeVerify func()
}

func (o *overtaken) TryCode(ctx context.Context, principal, addressID string, nowMs int64) (bool, error) {
	o.beforeTry()
	return o.Store.TryCode(ctx, principal, addressID, nowMs)
}

func (o *overtaken) VerifyAddress(ctx context.Context, a *notify.Address, codeHash, only string, nowMs int64, entry *journal.Entry) (bool, error) {
	o.beforeVerify()
	return o.Store.VerifyAddress(ctx, a, codeHash, only, nowMs, entry)
}

// Of two calls that verify an address at once, both get the verified address.
func TestTwoCallsVerifyAnAddressAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, false)
		nothing := func() {}
		for name, overtake := range map[string]func(verify func()) *overtaken{
			"before-its-try":          func(verify func()) *overtaken { return &overtaken{s.Store.(notify.Store), verify, nothing} },
			"before-its-verification": func(verify func()) *overtaken { return &overtaken{s.Store.(notify.Store), nothing, verify} },
		} {
			added, err := s.client.AddAddress(t.Context(), api.AddressBody{Channel: "ops", Address: name})
			require.NoError(t, err)
			texts := s.http.about("Code: ")
			code := codeLine.FindStringSubmatch(texts[len(texts)-1])[1]
			var first *api.Address
			late := notify.New(notify.Options{NowMs: func() int64 { return time.Now().UnixMilli() }, Store: overtake(func() {
				first, err = s.client.VerifyAddress(t.Context(), added.AddressID, code)
				require.NoError(t, err)
			})})
			got, err := late.Verify(t.Context(), auth.Local().Principal, added.AddressID, code)
			require.NoError(t, err, name)
			require.Equal(t, *first, got)
		}
	})
}
