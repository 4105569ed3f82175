package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuardTellsPublicAddressesFromOthers(t *testing.T) {
	t.Parallel()
	var guard Guard
	for _, public := range []string{"93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::808:808", "::ffff:8.8.8.8", "2002:808:808::1"} {
		require.NoError(t, guard.Check(netip.MustParseAddr(public), false), public)
		require.ErrorIs(t, guard.Check(netip.MustParseAddr(public), true), ErrPlain, public)
	}
	for _, refused := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.7", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "2001:db8::1", "2001::1", "100::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::1", "2002:a9fe:a9fe::", "2002:c0a8:101::",
	} {
		require.ErrorIs(t, guard.Check(netip.MustParseAddr(refused), false), ErrRefused, refused)
	}
}

func TestGuardAllowsWhatIsNamed(t *testing.T) {
	t.Parallel()
	allow, err := ParseAllow([]string{"10.1.0.0/16", "127.0.0.1", "fd00::/8"})
	require.NoError(t, err)
	guard := Guard{Allow: allow}
	for _, allowed := range []string{"10.1.2.3", "127.0.0.1", "::ffff:10.1.2.3", "fd12::1", "64:ff9b::a01:203"} {
		require.NoError(t, guard.Check(netip.MustParseAddr(allowed), true), allowed)
	}
	for _, refused := range []string{"10.2.0.1", "127.0.0.2", "169.254.169.254"} {
		require.ErrorIs(t, guard.Check(netip.MustParseAddr(refused), false), ErrRefused, refused)
	}
	for _, wrong := range []string{"", "10.0.0.0/33", "example.com", "10.0.0.0/8,"} {
		_, err := ParseAllow([]string{wrong})
		require.Error(t, err, wrong)
	}
}

func TestURLsThatNobodyShouldCallAreRefusedWhenTheyAreGiven(t *testing.T) {
	t.Parallel()
	var guard Guard
	require.NoError(t, guard.CheckURL("https://example.com/hooks?key=1"))
	for _, right := range []string{
		"https://example.com:8443/", "https://example.com.", "https://example.com:/x", "https://example.com:65535", "https://bücher.example/x", "https://a_b-c.example",
		"https://8.8.8.8/", "https://[2606:4700::1111]:1/", "https://" + strings.Repeat("a", 63) + ".example/",
	} {
		require.NoError(t, guard.CheckURL(right), right)
	}
	for _, wrong := range []string{
		"", "example.com", "ftp://example.com", "file:///etc/passwd", "gopher://x", "https://", "https:///x", "http://example.com", "https://u:p@example.com",
		"https://example.com/#x", "https://127.0.0.1/", "https://[::1]/", "https://[::ffff:7f00:1]/", "https://169.254.169.254/latest", "https://[fe80::1%25eth0]/",
		"https://exa mple.com", "https:example.com", "//example.com/x",
		"https://example.com:0/", "https://example.com:65536/", "https://example.com:99999999999999999999/", "https://example.com:x/", "https://:443/", "https://.", "https://..:1/",
		"https://a..example/", "https://.example/", "https://<host>/", "https://a,b/", "https://[::1/", "https://" + strings.Repeat("a", 64) + ".example/",
		"https://" + strings.Repeat("a.", 127) + "a/",
	} {
		require.Error(t, guard.CheckURL(wrong), wrong)
	}
	local := Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	require.NoError(t, local.CheckURL("http://127.0.0.1:9/x"))
	require.Error(t, local.CheckURL("http://10.0.0.1/"))
}

// The machine's own public addresses are refused, in whatever form they are written, unless
// a range contains them, because servers on this machine may trust local callers.
func TestOwnAddressesAreRefused(t *testing.T) {
	t.Parallel()
	own := netip.MustParseAddr("93.184.216.34")
	guard := Guard{Own: func() ([]netip.Addr, error) { return []netip.Addr{own}, nil }}
	for _, text := range []string{"93.184.216.34", "::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::"} {
		require.ErrorIs(t, guard.Check(netip.MustParseAddr(text), false), ErrRefused, text)
	}
	require.NoError(t, guard.Check(netip.MustParseAddr("93.184.216.35"), false))
	require.Error(t, guard.CheckURL("https://93.184.216.34/hook"))
	guard.Allow = []netip.Prefix{netip.PrefixFrom(own, 32)}
	require.NoError(t, guard.Check(own, false))
	require.NoError(t, guard.CheckOwn())
}

// Without the machine's addresses every public address is refused, and the refusal says that this is the cause.
func TestAddressesAreRefusedWhileThoseOfTheMachineCannotBeRead(t *testing.T) {
	t.Parallel()
	guard := Guard{Own: func() ([]netip.Addr, error) { return nil, errors.New("no interfaces") }}
	err := guard.Check(netip.MustParseAddr("93.184.216.35"), false)
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorIs(t, err, ErrUnreadable)
	require.EqualError(t, err, "93.184.216.35: the addresses of this machine cannot be read, so every public address is refused: no interfaces")
	require.EqualError(t, guard.CheckOwn(), "the addresses of this machine cannot be read, so every public address is refused: no interfaces")
	require.EqualError(t, guard.CheckURL("https://93.184.216.35/hook"), err.Error())

	require.NotErrorIs(t, guard.Check(netip.MustParseAddr("10.0.0.1"), false), ErrUnreadable, "refused in any case")
	guard.Allow = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	require.NoError(t, guard.Check(netip.MustParseAddr("10.0.0.1"), false))
}
