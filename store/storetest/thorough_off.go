//go:build !faults

package storetest

// Thorough tells tests that try many examples to try as many as they have. The tag "faults"
// sets it ("make faults"); the tests of every change try a few.
const Thorough = false
