package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/webhooks/egress"
)

func TestTheStartWarnsOfUnreadableAddresses(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &service{Command: &Command{}, logger: slog.New(slog.NewTextHandler(&log, nil))}
	s.guard = egress.Guard{Own: func() ([]netip.Addr, error) { return nil, nil }}
	s.warnOfUnreadableAddresses()
	require.Empty(t, log.String())
	s.guard.Own = func() ([]netip.Addr, error) { return nil, errors.New("address family not supported by protocol") }
	s.warnOfUnreadableAddresses()
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "address family not supported by protocol")
}
