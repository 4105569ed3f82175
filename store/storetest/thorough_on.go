//go:build faults

package storetest

// Thorough makes tests with many examples run all of them. The tag "faults" sets it ("make
// faults"); ordinary tests run a few.
const Thorough = true
