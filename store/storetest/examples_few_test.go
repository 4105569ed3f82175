//go:build !faults

package storetest_test

// differentialExamples is how many sequences of commands the engines are compared by.
const differentialExamples = 40
