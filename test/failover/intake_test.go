//go:build unix && faults

package failover

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// orderingVariable makes the test program one that records orders and their runs in the named database,
// so that it is a process to kill.
const orderingVariable = "HOLDPOINT_FAILOVER_ORDERS"

// recordOrders records an order and its run in one transaction after the other, every second one of which is
// rolled back, and prints the runs whose commit was acknowledged. It ends by being killed.
func recordOrders(ctx context.Context, url string) error {
	service, err := holdpoint.Open(ctx, url, holdpoint.Options{})
	if err != nil {
		return err
	}
	defer service.Close()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		runID, err := service.CreateRunTx(ctx, tx, client.CreateRunParams{Input: i})
		if err == nil {
			_, err = tx.Exec(ctx, "INSERT INTO orders (run_id) VALUES ($1)", runID)
		}
		switch {
		case err != nil:
			return err
		case i%2 == 1:
			err = tx.Rollback(ctx)
		default:
			if err = tx.Commit(ctx); err == nil {
				fmt.Println(runID)
			}
		}
		if err != nil {
			return err
		}
	}
}

// TestARunOfATransactionIsNeitherLostNorDoubled: the program that commits and the service that creates the
// runs are killed, again and again. There is exactly one run for each committed order, and no other.
func TestARunOfATransactionIsNeitherLostNorDoubled(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 8, 40
	url := postgrestest.URL(t)
	service := rig.Start(t, rig.Options{Database: url})
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	_, err = conn.Exec(t.Context(), "CREATE TABLE orders (run_id text PRIMARY KEY)")
	require.NoError(t, err)
	count := func(query string) (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&n))
		return n
	}

	var acknowledged []string
	for range rounds {
		program := exec.Command(os.Args[0])
		program.Env = append(os.Environ(), orderingVariable+"="+url)
		out, err := program.StdoutPipe()
		require.NoError(t, err)
		program.Stderr = os.Stderr
		require.NoError(t, program.Start())
		lines := bufio.NewScanner(out)
		for read := 0; read < perRound && lines.Scan(); read++ {
			acknowledged = append(acknowledged, strings.TrimSpace(lines.Text()))
			if read == perRound/2 {
				service.Kill() // in the middle of the runs of this round
				service.Resume()
			}
		}
		require.NoError(t, program.Process.Kill())
		_ = program.Wait()
		service.Kill()
		service.Resume()
	}
	require.Len(t, acknowledged, rounds*perRound)

	rig.Await(t, func() bool { return count("SELECT count(*) FROM run_intake") == 0 })
	orders := count("SELECT count(*) FROM orders")
	require.GreaterOrEqual(t, orders, len(acknowledged), "a commit may have been recorded and not acknowledged")
	require.Equal(t, orders, count("SELECT count(*) FROM orders JOIN runs USING (run_id)"), "lost")
	require.Equal(t, orders, count("SELECT count(*) FROM runs"), "a run without an order: of a transaction that was rolled back, or doubled")
	require.Equal(t, orders, count("SELECT count(*) FROM events WHERE type = 'accepted'"), "created twice")
	for _, runID := range acknowledged {
		require.Equal(t, 1, count("SELECT count(*) FROM orders WHERE run_id = '"+runID+"'"))
	}
	rig.RequireHealthy(t, url)
}
