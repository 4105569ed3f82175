// Package dialecttest is what the suites of dialects share: databases of every engine, a
// whole service with the dialect in it, calls and streams over HTTP. It must not know
// the words of a dialect.
//
// A suite runs every case on every engine:
//
//	func TestName(t *testing.T) {
//		dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
//			s := dialecttest.Serve(t, database.Open(t), name.Mount)
//			made := s.Post(t, "/v1/runs", `{"input":1,"suspend":{…}}`).Want(http.StatusAccepted)
//			s.Get(t, "/api/pending").Is(http.StatusOK, `{"pending":[…]}`)
//		})
//	}
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }
//
// Who wins when several faces decide about one wait is held by test/faces for all of
// them; a suite holds what is particular to its dialect.
package dialecttest
