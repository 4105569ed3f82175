// Package failpoint kills the process at one exact point of its code: before or after a
// statement, between the messages of one pipeline, or between the commit and the reply.
//
// Failpoints exist only in binaries built with the tag "failpoints", which only tests use.
// In every other build the functions of this package are empty and are compiled away;
// test/crash checks it.
//
// The environment variable [Variable] names a file that arms the failpoints. Until the file
// exists they do nothing: a test starts the program, prepares the data for the call, writes
// the file, and makes the call. The file holds one line:
//
//	record               append the name of each hit to the file with the added suffix ".hits"
//	kill NAME N          die by SIGKILL at the N-th hit of that name, counted from 1
//
// Counting starts when the file is written or changed. Tests find the names by recording a
// call; there is no list to maintain.
//
// The package must not know what happens at its failpoints.
package failpoint

// Variable is the environment variable with the path of the file that arms the failpoints.
const Variable = "HOLDPOINT_FAILPOINTS"
