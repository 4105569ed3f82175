// Package cli is the program as a value: what an operator or a script types, from
// the arguments to the exit code. [Run] is all of it.
//
// The commands that speak to a service do so by package client alone; only serve,
// migrate and doctor touch a store. The package decides nothing about runs and must
// not know SQL.
//
// # Exit codes
//
//	0        done; of exec and ask: the command's own 0, or an answer was printed
//	1        an error: no server, a refusal, something that is not there; of doctor:
//	         something is wrong
//	2        the command line is not one
//	3        doctor: it could not look
//	122      exec, ask: what was decided on its run is not what it asked for; nothing ran
//	123      exec: the command was started under this key before and how it ended is
//	         not on record; it was not run (see --rerun)
//	124      the time ran out before anybody decided (exec, ask without --default)
//	125      denied, declined, or cancelled
//	126, 127 exec: the approved command could not be started, or was not found
//	128+n    ended by signal n: the command of exec, or holdpoint itself
//
// Every other code of exec is the command's own. A command may itself exit with one
// of these codes; what happened is also said on stderr and is in the run's output.
package cli
