// Package neighbours measures what one caller's work costs another. It starts the program with its
// default limits, and times the calls of a quiet agent: first alone, then next to a caller that sends
// the most expensive calls there are, as fast as it can.
//
// Its test has the tag "faults": "make faults" runs it for a moment, to see that the quiet agent is
// never refused, and "make neighbours" long enough to measure, with bounds.
package neighbours
