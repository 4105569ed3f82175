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
		made := func(name string) *client.Client {
			token, _, err := s.Keyring.Create(t.Context(), &api.CreateTokenBody{Name: name, Role: api.RoleOperator}, "user:test", "")
			require.NoError(t, err)
			return s.Connect(client.WithToken(token.Secret))
		}
		ada, ben := made("ada"), made("ben")
		add := func(c *client.Client, address string) error {
			added, err := c.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: address})
			if err == nil {
				require.NoError(t, c.RemoveAddress(t.Context(), added.AddressID))
			}
			return err
		}
		refused := func(err error) {
			t.Helper()
			var problem *client.Error
			require.ErrorAs(t, err, &problem)
			require.Equal(t, api.CodeTooManyCodes, problem.Code)
			require.Positive(t, problem.RetryAfter)
		}
		require.NoError(t, add(ada, "stranger@example.com"))
		refused(add(ada, "stranger@example.com"))
		refused(add(ben, "stranger@example.com"))
		refused(add(ben, "Stranger+again@EXAMPLE.com"))
		require.Len(t, s.mail.all(), 1, "one code, however often the address is removed, by however many people")
		// Nor many strangers by one person.
		var err error
		for n := range 100 {
			if err = add(ada, fmt.Sprintf("stranger-%d@example.com", n)); err != nil {
				break
			}
		}
		refused(err)
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
			var problem *client.Error
			switch err := <-errs; {
			case err == nil:
				sent++
			default:
				require.ErrorAs(t, err, &problem)
				require.Equal(t, api.CodeTooManyCodes, problem.Code)
			}
		}
		require.Equal(t, 1, sent)
		require.Len(t, s.mail.all(), 1)
	})
}
