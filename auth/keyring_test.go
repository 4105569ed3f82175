package auth_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth"
)

// A mistyped secret is detected without a database look-up.
func TestSecrets(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1_000 {
		secret := auth.NewSecret()
		require.Regexp(t, `^holdpoint_[0-9A-Za-z]{49}$`, secret)
		require.True(t, auth.WellFormed(secret))
		require.False(t, seen[secret])
		seen[secret] = true
		require.Equal(t, secret[len("holdpoint_"):len("holdpoint_")+4], auth.HintOf(secret))
		at := rand.IntN(len(secret))
		other := byte('a')
		if secret[at] == other {
			other = 'b'
		}
		require.False(t, auth.WellFormed(secret[:at]+string(other)+secret[at+1:]), "one character is another")
		require.False(t, auth.WellFormed(secret[:at]+secret[at+1:]), "one is missing")
	}
	// The CRC-32 (IEEE) of "holdpoint_" and 43 zeros is 0x3a29974e.
	zeros := "holdpoint_" + strings.Repeat("0", 43)
	require.True(t, auth.WellFormed(zeros+"142NG2"))
	for _, text := range []string{"", "holdpoint_", "holdpoint_x!yz", zeros + "000000", strings.Repeat("é", 40)} {
		require.False(t, auth.WellFormed(text), text)
	}
	require.Empty(t, auth.HintOf("holdpoint_x!yz"))
	require.Empty(t, auth.HintOf("password"))
}

// The secret of a link has the form of a token's and is none.
func TestSecretsOfLinks(t *testing.T) {
	t.Parallel()
	secret := auth.NewLinkSecret()
	require.Regexp(t, `^hplink_[0-9A-Za-z]{49}$`, secret)
	require.NotEqual(t, secret, auth.NewLinkSecret())
	require.True(t, auth.WellFormedLink(secret))
	require.False(t, auth.WellFormed(secret))
	require.False(t, auth.WellFormedLink(auth.NewSecret()))
	require.False(t, auth.WellFormedLink(secret[:len(secret)-1]+"!"))
	require.False(t, auth.WellFormedLink("hplink_"))
}

func TestPrincipals(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"user:ann", "user:ann@x.example", "agent:a.b_c-d:e", "service:" + strings.Repeat("x", 200), "user:."} {
		require.True(t, auth.ValidPrincipal(good), good)
	}
	for _, bad := range []string{"", "ann", "user:", "root:ann", "user:a b", "user:é", "user:" + strings.Repeat("x", 201), "user:a\n"} {
		require.False(t, auth.ValidPrincipal(bad), bad)
	}
}

// No role may do an action that is not set.
func TestAnActionThatIsNotSet(t *testing.T) {
	t.Parallel()
	require.Equal(t, "no role", auth.RolesFor(""))
	require.False(t, auth.RoleMay("admin", ""))
	require.False(t, auth.RoleMay("", auth.Known))
}
