// Package failpoint kills this process at one exact point of its code: before or after a statement,
// between the messages of one pipeline, between the commit and the reply.
//
// Points exist only in programs that are built with the tag "failpoints", which only tests do. In
// every other build the functions of this package are empty and leave nothing in the program;
// test/crash holds that.
//
// The environment variable [Variable] names a file that arms the points. Until the file exists they
// do nothing: a test starts the program, makes what the call needs, writes the file, and makes the
// call. The file holds one line:
//
//	record               append the name of every hit to the file's name with ".hits"
//	kill NAME N          die by SIGKILL at the N-th hit of that name, counted from 1
//
// Hits are counted from the moment when the file was written or last changed. The names of a call
// are what a recorded call has hit; there is no list to keep.
//
// The package must not know what happens at its points.
package failpoint

// Variable names the environment variable with the path of the file that arms the
// points of a process.
const Variable = "HOLDPOINT_FAILPOINTS"
