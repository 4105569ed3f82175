package storetest_test

import (
	"os"
	"slices"
	"testing"
)

// exampleTB closes the resources of a property's example at its end: a property has hundreds of
// examples.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (e *exampleTB) Cleanup(do func()) { e.cleanups = append(e.cleanups, do) }

func (e *exampleTB) TempDir() string {
	directory, err := os.MkdirTemp("", "holdpoint-example-")
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = os.RemoveAll(directory) })
	return directory
}

func (e *exampleTB) end() {
	for _, do := range slices.Backward(e.cleanups) {
		do()
	}
}
