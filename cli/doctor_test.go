package cli_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// TestDoctorScripts runs the scenarios of testdata/doctor, which have one more
// command than the others:
//
//	sql FILE STATEMENT           changes an SQLite file past everything
func TestDoctorScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/doctor",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await-server": awaitServer,
			"exits":        exits,
			"post":         post,
			"sql":          execSQL,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func execSQL(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, neg, args, 2, 2)
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?_pragma=ignore_check_constraints(1)")
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), args[1])
	ts.Check(err)
	ts.Check(db.Close())
}
