//go:build unix

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// floor is the minimum ratio between two subjects of one run; below it the program fails.
// As a ratio within one run it does not depend on the machine.
type floor struct {
	subject, reference string
	ratio              float64
}

// parseFloor parses SUBJECT/REFERENCE=RATIO.
func parseFloor(text string) (floor, error) {
	names, number, found := strings.Cut(text, "=")
	subject, reference, both := strings.Cut(names, "/")
	ratio, err := strconv.ParseFloat(number, 64)
	if !found || !both || subject == "" || reference == "" || err != nil || ratio <= 0 {
		return floor{}, errors.New("it must be SUBJECT/REFERENCE=RATIO")
	}
	return floor{subject, reference, ratio}, nil
}

// check returns an error if the median ratio of the rounds is below the floor, or if a
// subject was not measured.
func (f floor) check(r *report, clients int) error {
	measured, reference := r.of(f.subject, clients), r.of(f.reference, clients)
	if len(measured) == 0 || len(measured) != len(reference) {
		return fmt.Errorf("floor %s/%s: one of them was not measured", f.subject, f.reference)
	}
	var ratios []float64
	for i := range measured {
		ratios = append(ratios, measured[i].PerSecond()/reference[i].PerSecond())
	}
	if reached := median(ratios); reached < f.ratio {
		return fmt.Errorf("%d clients: %s does %.2f times the waits of %s, which is below %.2f", clients, f.subject, reached, f.reference, f.ratio)
	}
	return nil
}
