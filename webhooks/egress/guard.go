package egress

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
)

// Guard restricts which addresses may be called. The zero Guard allows public addresses
// over HTTPS only.
type Guard struct {
	// Allow are ranges that may be called even though they are not public, with or without
	// TLS.
	Allow []netip.Prefix
	// Flag is the flag that sets Allow, for error messages; --webhook-allow if empty.
	Flag string
	// Own returns the addresses of this machine. If nil, they are read from its network interfaces.
	// They are refused even if they are public, because servers on this machine may trust
	// local callers. If Own fails, every address outside Allow is refused.
	Own func() ([]netip.Addr, error)
}

func (g *Guard) flag() string { return cmp.Or(g.Flag, "--webhook-allow") }

// own returns the addresses of this machine. Errors wrap ErrRefused and ErrUnreadable.
func (g *Guard) own() ([]netip.Addr, error) {
	addresses := g.Own
	if addresses == nil {
		addresses = ownAddresses
	}
	known, err := addresses()
	if err != nil {
		return nil, &unreadable{err}
	}
	return known, nil
}

// CheckOwn returns an error if the addresses of this machine cannot be read, for example because a
// sandbox forbids the service to ask for them.
func (g *Guard) CheckOwn() error {
	_, err := g.own()
	return err
}

// ownAddresses returns the addresses of the network interfaces.
func ownAddresses() ([]netip.Addr, error) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, one := range found {
		if network, ok := one.(*net.IPNet); ok {
			if address, ok := netip.AddrFromSlice(network.IP); ok {
				addresses = append(addresses, address.Unmap())
			}
		}
	}
	return addresses, nil
}

// ErrRefused is wrapped by the error for an address that the guard does not allow.
var ErrRefused = errors.New("the address is not public or is of this machine, and no allowed range names it")

// ErrPlain is wrapped by the error for a call without TLS to an address outside the allowed
// ranges.
var ErrPlain = errors.New("http is for addresses that an allowed range names; use https")

// ErrUnreadable is wrapped, next to ErrRefused, by the error for an address that is refused because the
// addresses of this machine cannot be read.
var ErrUnreadable = errors.New("the addresses of this machine cannot be read, so every public address is refused")

// unreadable is such an error. Its text leaves out that of ErrRefused, which would name a wrong cause.
type unreadable struct{ cause error }

func (e *unreadable) Error() string   { return fmt.Sprintf("%v: %v", ErrUnreadable, e.cause) }
func (e *unreadable) Unwrap() []error { return []error{ErrRefused, ErrUnreadable, e.cause} }

// ParseAllow parses ranges such as 10.0.0.0/8 or fd00::/8, and single addresses.
func ParseAllow(ranges []string) ([]netip.Prefix, error) {
	var allow []netip.Prefix
	for _, text := range ranges {
		if address, err := netip.ParseAddr(text); err == nil {
			address = address.Unmap()
			allow = append(allow, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a range of addresses such as 10.0.0.0/8", text)
		}
		allow = append(allow, prefix.Masked())
	}
	return allow, nil
}

// special are ranges outside the public Internet, from the IANA special-purpose registries,
// except those that netip recognizes.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/8", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
)

// IPv6 ranges that embed an IPv4 address, and its offset: the call ends at that address.
var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// inside returns the IPv4 address embedded in an address, or the address itself.
func inside(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	bytes := address.As16()
	switch {
	case nat64.Contains(address):
		return netip.AddrFrom4([4]byte(bytes[12:16]))
	case sixTo4.Contains(address):
		return netip.AddrFrom4([4]byte(bytes[2:6]))
	}
	return address
}

// allowed reports whether a range contains the address or the address embedded in it.
func (g *Guard) allowed(address netip.Addr) bool {
	return slices.ContainsFunc(g.Allow, func(prefix netip.Prefix) bool {
		return prefix.Contains(address.Unmap().WithZone("")) || prefix.Contains(inside(address))
	})
}

// Check returns an error if an address must not be called. Errors wrap ErrRefused, or also
// ErrUnreadable, or ErrPlain.
func (g *Guard) Check(address netip.Addr, plain bool) error {
	if g.allowed(address) {
		return nil
	}
	if plain {
		return fmt.Errorf("%s: %w", address, ErrPlain)
	}
	end := inside(address)
	if !public(end) {
		return fmt.Errorf("%s: %w", address, ErrRefused)
	}
	known, err := g.own()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", address, err)
	case slices.Contains(known, end):
		return fmt.Errorf("%s: %w", address, ErrRefused)
	}
	return nil
}

func public(address netip.Addr) bool {
	if !address.IsValid() || !address.IsGlobalUnicast() || address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() {
		return false
	}
	return !slices.ContainsFunc(special, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}

// CheckURL returns an error if a URL must not be called, as far as that is known without
// resolving its name. The rest is checked at each call.
func (g *Guard) CheckURL(text string) error {
	if text == "" || len(text) > api.MaxWebhookURL {
		return fmt.Errorf("must be a URL of at most %d bytes", api.MaxWebhookURL)
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Opaque != "" || strings.ContainsAny(text, " \t\r\n") || !canBeHost(parsed.Hostname()):
		return errors.New("must be a URL such as https://example.com/hooks")
	case parsed.Scheme != "https" && parsed.Scheme != "http":
		return errors.New("must begin with https://")
	case parsed.Scheme == "http" && len(g.Allow) == 0:
		return fmt.Errorf("must begin with https://: http is for addresses that %s names", g.flag())
	case parsed.User != nil:
		return errors.New("must not have a user or a password in it")
	case parsed.Fragment != "":
		return errors.New("must not have a fragment")
	case !canBePort(parsed.Port()):
		return errors.New("must have a port from 1 to 65535, or none")
	}
	if address, err := netip.ParseAddr(parsed.Hostname()); err == nil {
		switch err := g.Check(address, parsed.Scheme == "http"); {
		case errors.Is(err, ErrUnreadable):
			return err
		case err != nil:
			return fmt.Errorf("must not name an address that is not public: %s does not name it", g.flag())
		}
	}
	return nil
}

// canBeHost reports whether a text may be an address or a resolvable name.
func canBeHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	const longestName, longestLabel = 253, 63
	host = strings.TrimSuffix(host, ".")
	if len(host) > longestName {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > longestLabel || strings.ContainsFunc(label, func(r rune) bool {
			return r < utf8.RuneSelf && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			return false
		}
	}
	return true
}

func canBePort(port string) bool {
	number, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && number > 0
}
