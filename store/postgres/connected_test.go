package postgres

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestConnectedServicesAreCounted(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	connected := func() int {
		count, err := Connected(t.Context(), url)
		require.NoError(t, err)
		return count
	}
	require.Zero(t, connected(), "the asking process is not a service")
	s := open(t, url, Options{})
	require.Positive(t, connected())
	require.NoError(t, s.Close())
	// The server notices the end of a connection slightly after the client.
	require.Eventually(t, func() bool { return connected() == 0 }, time.Minute, 10*time.Millisecond)
}

// A server that accepts a connection and then says nothing, as behind a broken proxy, is given up. The next attempt may
// reach another one.
func TestListeningGivesUpASilentServer(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*pgproto3.Backend) error{
		"silent": func(*pgproto3.Backend) error { return nil },
		"silent once it is connected": func(server *pgproto3.Backend) error {
			if _, err := server.ReceiveStartupMessage(); err != nil {
				return err
			}
			server.Send(&pgproto3.AuthenticationOk{})
			server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			return server.Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			stop := make(chan struct{})
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					conn, err := server.Accept()
					if err != nil {
						return
					}
					serving.Go(func() {
						defer conn.Close()
						_ = serve(pgproto3.NewBackend(conn, conn))
						<-stop
					})
				}
			})
			t.Cleanup(func() {
				close(stop)
				require.NoError(t, server.Close())
				serving.Wait()
			})
			url := fmt.Sprintf("postgres://holdpoint@%s/holdpoint?sslmode=disable", server.Addr())
			given, err := connConfig(url + "&connect_timeout=3")
			require.NoError(t, err)
			require.Equal(t, 3*time.Second, given.ConnectTimeout)
			config, err := connConfig(url)
			require.NoError(t, err)
			require.Equal(t, 10*time.Second, config.ConnectTimeout)
			l := &listener{config: config, timeout: 100 * time.Millisecond, notifier: &notifier{audience: newAudience(nil)}}
			listened, err := l.listen(t.Context())
			require.Error(t, err)
			require.False(t, listened)
		})
	}
}
