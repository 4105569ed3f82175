package postgres

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

// open returns a store on a database.
func open(tb testing.TB, url string, options Options) *Store {
	tb.Helper()
	s, err := Open(context.Background(), url, options)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func do(tb testing.TB, s *Store, command runs.Command) runs.Reply {
	tb.Helper()
	reply, err := s.Do(context.Background(), command)
	require.NoError(tb, err)
	return reply
}
