// Package load repeats whole waits for a person from several clients at once, and
// reports how many were carried and how long they took. One wait is: a run is made
// and suspended, a person decides, a worker that waits for work gets the run, and
// completes it.
//
// Every program that is measured calls [Main] with its own [Subject], so that all of
// them repeat, time and report in the same way. The program bench/waits starts them
// as processes and reads the lines that they write: a [Line] when the measured time
// begins, one when it ends, and one with the [Result].
//
// It must not know holdpoint or any other subject.
package load
