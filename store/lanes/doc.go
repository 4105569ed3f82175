// Package lanes decides which work goes next, and together with what. It knows neither SQL nor
// commands: an item of work has a key, which is its session, a caller and a size.
//
// Items that arrive while a batch is in flight are the next batch, so that an idle lane starts each
// item at once. Items of one key keep their order. Callers share a batch fairly. A key that is locked
// by somebody else, whose items fail, or that has a large item waits next to its lane, so that no
// other key waits for it.
package lanes
