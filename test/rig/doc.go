// Package rig is the vocabulary of tests that run the real program as processes of their own,
// to kill, freeze and restart them:
//
//   - [Main] runs the tests of a package; [Need] skips a test for which a program is missing.
//   - [Databases] gives each engine a fresh database; [Cluster], [NewStandby] and [Bouncer] are
//     a Postgres, its standby and its connection pool, which can be killed.
//   - [Start] serves a database; [Process] is killed, frozen, restarted and connected to.
//   - [Line] is a network connection that can be cut and delayed.
//   - [Approvals], [Question], [Allow] and [Decide] are the requests and decisions of most tests.
//   - [ReadLog] reads what is on record; [Traffic] and [History] compare it with the replies that
//     callers got; [RequireHealthy] runs the doctor.
//   - [Soon], [Await] and [EnvInt] bound and configure a test.
//
// Only tests import it. It must not know what they test.
package rig
