//go:build unix && faults

package failover

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(orderingVariable); url != "" {
		fmt.Fprintln(os.Stderr, recordOrders(context.Background(), url))
		os.Exit(1)
	}
	rig.Main(m)
}
