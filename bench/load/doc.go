// Package load repeats complete waits for a person with several concurrent clients, and
// reports the number of waits and their durations. One wait is: a run is created and
// suspended, a person decides, a waiting worker gets the run and completes it.
//
// Every measured program calls [Main] with its own [Subject], so that all of them repeat,
// time and report in the same way. The program bench/waits starts them as processes and
// reads their output: a [Line] when the measured time begins, one when it ends, and one
// with the [Result].
//
// It must not know holdpoint or any other subject.
package load
