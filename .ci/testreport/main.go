// Command testreport reads the output of "go test -json" and prints what "go test"
// itself prints: a line for each package, and the output of each test that failed.
// At the end it prints again why each of them failed, in a few lines.
// It exits with an error when a test failed or was skipped, when a package could not
// be built, and when no test ran at all.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	good, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if err != nil || !good {
		os.Exit(1) //nolint:forbidigo // This is main.
	}
}

// line is one line of "go test -json"; see "go doc test2json".
type line struct {
	Action  string `json:"Action"`
	Package string `json:"Package"`
	Test    string `json:"Test"` // empty for the package itself
	Output  string `json:"Output"`
}

// totals counts what became of the tests, and of the packages under the empty name.
type totals struct {
	passed, failed, packages int
	skipped, failedPackages  []string
	reasons                  []string // why tests failed
}

func report(from io.Reader, to io.Writer) (good bool, err error) {
	var sum totals
	outputs := map[[2]string][]string{} // of tests and packages that are not over
	lines := bufio.NewReader(from)
	for {
		text, readErr := lines.ReadBytes('\n')
		if len(text) > 0 {
			var one line
			if json.Unmarshal(text, &one) != nil {
				fmt.Fprint(to, string(text)) // not of test2json: a complaint of the go command
			} else {
				sum.take(one, outputs, to)
			}
		}
		if errors.Is(readErr, io.EOF) {
			break
		}
		if readErr != nil {
			return false, readErr
		}
	}
	return sum.print(to), nil
}

func (s *totals) take(one line, outputs map[[2]string][]string, to io.Writer) {
	key := [2]string{one.Package, one.Test}
	switch one.Action {
	case "output":
		if !strings.HasPrefix(one.Output, "=== ") { // RUN, PAUSE, CONT, NAME
			outputs[key] = append(outputs[key], one.Output)
		}
	case "build-output":
		fmt.Fprint(to, one.Output)
	case "pass", "skip", "fail":
		if one.Test == "" && one.Action == "fail" {
			s.endUnended(one.Package, outputs, to)
		}
		s.end(one, outputs[key], to)
		delete(outputs, key)
	}
}

// endUnended prints what the tests of a package wrote that have no result: a process
// that panics or reaches its time limit ends without one, and writes the reason into the
// output of whichever test was running.
func (s *totals) endUnended(name string, outputs map[[2]string][]string, to io.Writer) {
	const most = 400 // lines of each test
	for key, output := range outputs {
		if key[0] != name || key[1] == "" {
			continue
		}
		fmt.Fprintln(to, "NOT ENDED\t"+key[0]+" "+key[1])
		fmt.Fprint(to, strings.Join(output[:min(len(output), most)], ""))
		if panicked := slices.IndexFunc(output, func(line string) bool { return strings.HasPrefix(line, "panic: ") }); panicked >= 0 {
			s.reasons = append(s.reasons, "WHY\t"+name+" "+key[1]+", which did not end\n"+firstLines(output[panicked:]))
		}
	}
}

// end counts a test or a package that is over, and prints what is worth it.
func (s *totals) end(one line, output []string, to io.Writer) {
	switch {
	case one.Test == "" && one.Action == "fail":
		s.failedPackages = append(s.failedPackages, one.Package)
		fmt.Fprint(to, strings.Join(output, ""))
	case one.Test == "":
		// The last line is go test's own: "ok" or "no test files".
		s.packages++
		if len(output) > 0 {
			fmt.Fprint(to, output[len(output)-1])
		}
	case one.Action == "fail":
		s.failed++
		fmt.Fprint(to, strings.Join(output, ""))
		s.reasons = append(s.reasons, "WHY\t"+one.Package+" "+one.Test+"\n"+reason(output))
	case one.Action == "skip":
		s.skipped = append(s.skipped, one.Package+" "+one.Test)
		fmt.Fprint(to, strings.Join(output, ""))
	default:
		s.passed++
	}
}

// reason returns the lines that say why a test failed: those of its last assertion, or the last ones.
func reason(output []string) string {
	from := max(0, len(output)-reasonLines)
	for i := len(output) - 1; i >= 0; i-- {
		if strings.Contains(output[i], "Error Trace:") {
			from = i
			break
		}
	}
	return firstLines(output[from:])
}

const reasonLines = 8

func firstLines(output []string) string {
	const bytes = 400 // of each line
	var text strings.Builder
	for _, line := range output[:min(len(output), reasonLines)] {
		line = strings.TrimRight(line, "\n")
		text.WriteString(line[:min(len(line), bytes)] + "\n")
	}
	return text.String()
}

// print writes the summary and reports whether everything ran and passed.
func (s *totals) print(to io.Writer) bool {
	slices.Sort(s.failedPackages)
	for _, name := range s.failedPackages {
		fmt.Fprintln(to, "FAIL\t"+name)
	}
	for _, name := range s.skipped {
		fmt.Fprintln(to, "SKIPPED\t"+name)
	}
	for _, why := range s.reasons {
		fmt.Fprint(to, why)
	}
	good := s.failed == 0 && len(s.failedPackages) == 0 && len(s.skipped) == 0 && s.passed > 0
	verdict := "FAIL"
	if good {
		verdict = "PASS"
	}
	fmt.Fprintf(to, "%s: %d tests passed, %d failed, %d skipped, in %d packages\n",
		verdict, s.passed, s.failed, len(s.skipped), s.packages+len(s.failedPackages))
	return good
}
