//go:build unix

package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// NewStandby creates and starts a copy of a running cluster that follows it by streaming
// replication. Its name may be in the primary's synchronous_standby_names. It is killed and removed
// with the test.
func NewStandby(tb testing.TB, primary *Cluster, name string, options ClusterOptions) *Cluster {
	tb.Helper()
	standby := NewCluster(tb, options)
	require.NoError(tb, os.RemoveAll(standby.Directory()))
	_, err := standby.Run("pg_basebackup", "--pgdata", standby.Directory(), "--checkpoint", "fast", "--no-sync",
		"--write-recovery-conf", "--dbname", primary.URL("postgres")+"&application_name="+name)
	require.NoError(tb, err)
	require.NoError(tb, standby.Start())
	return standby
}

// AwaitStandby returns when a standby streams from this primary in a sync_state of
// pg_stat_replication: "sync", "quorum" or "async".
func (c *Cluster) AwaitStandby(name, state string) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var streams bool
		err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_stat_replication
			WHERE application_name = $1 AND state = 'streaming' AND sync_state = $2)`, name, state).Scan(&streams)
		if err != nil || streams {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("standby %s does not stream: %s", name, c.Log())
		}
	}
}

// Promote ends the recovery of a standby and returns once it accepts writes.
func (c *Cluster) Promote() error {
	output, err := c.Run("pg_ctl", "promote", "--pgdata", c.Directory(), "--wait")
	if err != nil {
		return errors.Join(err, errors.New(output))
	}
	return nil
}

// Freeze stops every process of the server until Thaw. Data sent to it meanwhile waits in the
// kernel.
func (c *Cluster) Freeze() { c.signalAll(syscall.SIGSTOP) }

// Thaw resumes a frozen server.
func (c *Cluster) Thaw() { c.signalAll(syscall.SIGCONT) }

func (c *Cluster) signalAll(signal syscall.Signal) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.server.now == nil {
		return
	}
	postmaster := c.server.now.command.Process.Pid
	for _, pid := range append([]int{postmaster}, childrenOf(postmaster)...) {
		_ = syscall.Kill(pid, signal) // it may be gone
	}
}
