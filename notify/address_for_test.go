package notify_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// An admin adds an address for another person, who alone can verify it.
func TestAnAdminAddsAnAddressForAPerson(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		_, admin := s.as(t, api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
		_, ada := s.as(t, api.CreateTokenBody{Name: "ada", Role: api.RoleOperator})
		_, ben := s.as(t, api.CreateTokenBody{Name: "ben", Role: api.RoleOperator})
		body := api.AddressBody{Channel: "mail", Address: "ben@example.com", Principal: "user:ben"}
		_, err := ada.AddAddress(t.Context(), body)
		refused(t, err, api.CodeForbidden)
		for _, nobody := range []string{"ben", "agent:coder", "service:ci", "group:finance", "user:"} {
			_, err = admin.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: "ben@example.com", Principal: nobody})
			refused(t, err, api.CodeInvalidRequest)
		}
		require.Empty(t, s.mail.all())

		added, err := admin.AddAddress(t.Context(), body)
		require.NoError(t, err)
		require.Zero(t, added.VerifiedAtMs)
		message := s.mail.all()[0]
		require.Contains(t, message, "An admin has added this address for ben.")
		code := regexp.MustCompile(`Code: (\d{6})`).FindStringSubmatch(message)[1]
		for _, other := range []*client.Client{admin, ada} {
			_, err = other.VerifyAddress(t.Context(), added.AddressID, code)
			refused(t, err, api.CodeAddressNotFound)
			list, err := other.ListAddresses(t.Context())
			require.NoError(t, err)
			require.Empty(t, list.Data)
		}
		log, err := admin.ListAudit(t.Context(), client.AuditListParams{})
		require.NoError(t, err)
		line := log.Data[len(log.Data)-1]
		require.Equal(t, "user:root", line.Actor)
		require.Contains(t, string(line.Event), `"principal":"user:ben"`)
		require.NotContains(t, string(line.Event), "ben@example.com")

		verified, err := ben.VerifyAddress(t.Context(), added.AddressID, code)
		require.NoError(t, err)
		require.NotZero(t, verified.VerifiedAtMs)

		// One's own principal is no other person.
		_, err = ada.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: "ada@example.com", Principal: "user:ada"})
		require.NoError(t, err)
		require.NotContains(t, s.mail.all()[1], "An admin")
	})
}

// An admin cannot use up a person's codes and addresses.
func TestAnAdminLocksNobodyOut(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := start(t, database, time.Second, true)
		_, admin := s.as(t, api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
		_, ben := s.as(t, api.CreateTokenBody{Name: "ben", Role: api.RoleOperator})
		add := func(c *client.Client, who string, n int) error {
			_, err := c.AddAddress(t.Context(), api.AddressBody{Channel: "mail", Address: fmt.Sprintf("%s-%d@example.com", who[len("user:"):], n), Principal: who})
			return err
		}
		sent := 0
		for _, who := range []string{"user:ben", "user:cyd", "user:dan", "user:eve"} {
			for n := range api.MaxAddedAddresses {
				require.NoError(t, add(admin, who, n))
				sent++
			}
			refused(t, add(admin, who, api.MaxAddedAddresses), api.CodeTooManyAddresses)
		}
		require.Equal(t, api.AddressCodesOfPerson, sent)
		refused(t, add(admin, "user:joe", 0), api.CodeTooManyCodes)
		for n := range api.MaxAddresses - api.MaxAddedAddresses {
			require.NoError(t, add(ben, "user:ben", 100+n))
		}
		refused(t, add(ben, "user:ben", 200), api.CodeTooManyAddresses)
	})
}
