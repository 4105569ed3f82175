// Package neighbours measures what one caller's work costs another. It starts the program with its
// default limits, and times the calls of a quiet agent: alone, and next to a caller that sends one of
// the most expensive kinds of calls, as fast as it can, in turns.
//
// Its test has the tag "faults": "make faults" runs it for a moment, to see that the quiet agent is
// never refused, and "make neighbours" long enough to measure, with bounds.
package neighbours
