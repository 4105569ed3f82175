// Package failpoint lets a test kill this process at one exact point: before or after
// a statement, between the messages of one pipeline, between the commit and the reply.
//
// Points exist in programs that were built with the tag "failpoints", which only
// tests do. In every other build the functions of this package are empty and
// nothing of them is left in the program; test/crash holds that.
//
// A program with points does nothing at them until the file that [Variable] names is
// there. So a test starts the program, prepares what it wants to see, writes the
// file, and makes the one call that it is about. The file holds one line:
//
//	record               append the name of every hit to the file's name with ".hits"
//	kill NAME N          die by SIGKILL at the N-th hit of that name, counted from 1
//
// Hits are counted from the moment when the file was written or last changed. What
// a test may name is what a recorded call has hit; there is no list to keep.
//
// The package knows nothing of what happens at its points.
package failpoint

// Variable names the environment variable with the path of the file that arms the
// points of a process.
const Variable = "HOLDPOINT_FAILPOINTS"
