package notify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Removing an address and adding it again sends no second code: otherwise anyone with an address book
// could fill a stranger's mailbox.
func TestAStrangerIsNotFloodedWithCodes(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
