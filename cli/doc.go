// Package cli is the program as a function, from the arguments to the exit code: [Run].
//
// The commands that call a service only use package client; serve, migrate, doctor and a
// few others open a store. The package decides nothing about runs and must not know SQL.
//
// # Exit codes
//
//	0        success; exec: the command exited with 0; ask: an answer was printed
//	1        an error: no server, a refusal, something not found; doctor: it found
//	         an inconsistency
//	2        invalid command line
//	3        doctor, audit verify: the check could not run
//	122      exec, ask: the decision does not match the request; nothing ran
//	123      exec: already started with this key, outcome unknown; not run again
//	         (see --rerun)
//	124      exec, ask without --default: nobody decided in time
//	125      denied, declined, or cancelled
//	126, 127 exec: the approved command could not be started, or was not found
//	128+n    ended by signal n: the command of exec, or holdpoint itself
//
// Any other code of exec is the command's own. A command may itself exit with one of these
// codes; stderr and the run's output tell what happened.
package cli
