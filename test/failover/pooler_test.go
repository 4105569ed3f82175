//go:build unix && faults

package failover

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// poolSize is how many connections the proxy has for both replicas together: fewer than
// their lanes and readers would take.
const poolSize = 4

// Two replicas behind a proxy that pools by transaction hand decisions over to each
// other, and go on by themselves after the proxy was killed under load.
func TestTwoReplicasBehindAProxyThatPoolsByTransaction(t *testing.T) {
	t.Parallel()
	server := rig.NewCluster(t, rig.ClusterOptions{})
	require.NoError(t, server.Start())
	direct, err := server.CreateDatabase("holdpoint")
	require.NoError(t, err)
	proxy := rig.NewBouncer(t, server, poolSize)
	replicas, urls := rig.StartReplicas(t, 2, rig.Options{Database: proxy.URL("holdpoint"), Args: pooledOptions(t, proxy.URL("holdpoint"), direct)})
	requireListening(t, server, len(replicas))

	traffic := rig.StartTraffic(t, rig.TrafficOptions{Name: "run", Services: urls, Clients: 32})
	traffic.AwaitAcknowledged(t, 200)
	requirePooled(t, direct)
	proxy.Kill()
	killed := time.Now()
	require.NoError(t, proxy.Start())
	restarted := time.Now()
	for number, replica := range replicas {
		first := requireGoesOn(t, traffic, number, restarted, replica)
		t.Logf("replica %d acknowledges its first decision %v after the proxy was killed", number, first.Sub(killed).Round(time.Millisecond))
	}
	traffic.AwaitAcknowledged(t, 200)
	require.NoError(t, traffic.Finish())
	requireStillRunning(t, replicas)

	history := traffic.History()
	t.Logf("%d decisions, %d acknowledged; %d runs and decisions acknowledged to a repeated call only",
		len(history.Decisions), history.Acknowledged(), history.Replayed())
	for _, replica := range replicas {
		history.RequireKept(t, replica)
	}
	rig.RequireHealthy(t, direct)
}

// pooledOptions reads the options of docs/postgres.md, with the addresses of a proxy and its server.
func pooledOptions(t *testing.T, proxy, server string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/postgres.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("<!-- test:pooled -->\n```sh\nholdpoint serve (.*)\n```").FindSubmatch(page)
	require.NotNil(t, shown)
	options := strings.Fields(string(shown[1]))
	for i, option := range options {
		options[i] = strings.NewReplacer("postgres://…proxy…", proxy, "postgres://…server…", server).Replace(option)
	}
	require.Contains(t, options, server)
	return options
}

// requirePooled checks that the replicas use the proxy: apart from their connections for
// notifications, there are no more connections than the proxy has.
func requirePooled(t *testing.T, direct string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), direct)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var pooled int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = 'holdpoint' AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND pid NOT IN (`+listeners+`)`).Scan(&pooled))
	require.Positive(t, pooled)
	require.LessOrEqual(t, pooled, poolSize)
}
