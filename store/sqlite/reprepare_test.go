package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// TestStatementsArePlannedOnce binds other values to each statement. SQLite plans a statement again after each
// binding of a parameter whose value its plan depends on, as in "LIMIT ?", "LIKE ?" or a comparison that the
// condition of an index has too. For a list, planning costs more than reading a page.
func TestStatementsArePlannedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	store, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	require.NoError(t, store.Close())

	tls := libc.NewTLS()
	defer tls.Close()
	pointer := tls.Alloc(8)
	defer tls.Free(8)
	text := func(s string) uintptr {
		c, err := libc.CString(s)
		require.NoError(t, err)
		t.Cleanup(func() { libc.Xfree(nil, c) })
		return c
	}
	require.Zero(t, lib.Xsqlite3_open_v2(tls, text(path), pointer, lib.SQLITE_OPEN_READWRITE, 0))
	result := func() uintptr { return *(*uintptr)(unsafe.Add(nil, pointer)) }
	db := result()
	defer lib.Xsqlite3_close_v2(tls, db)
	plans := 0
	for name, sql := range statements(t) {
		if !strings.ContainsAny(sql, "$?") {
			continue
		}
		require.Zero(t, lib.Xsqlite3_prepare_v2(tls, db, text(sql), -1, pointer, 0), "%s\n%s", name, sql)
		statement := result()
		for value := range int64(2) {
			for i := range lib.Xsqlite3_bind_parameter_count(tls, statement) {
				require.Zero(t, lib.Xsqlite3_bind_int64(tls, statement, i+1, value))
			}
			lib.Xsqlite3_step(tls, statement) // it may fail: the values fit no column
			lib.Xsqlite3_reset(tls, statement)
		}
		if lib.Xsqlite3_stmt_status(tls, statement, lib.SQLITE_STMTSTATUS_REPREPARE, 0) != 0 {
			t.Errorf("%s is planned again\n%s", name, sql)
		}
		plans++
		lib.Xsqlite3_finalize(tls, statement)
	}
	require.Positive(t, plans)
}
