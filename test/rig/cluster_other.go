//go:build unix && !linux

package rig

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// childrenOf returns the processes that a process has started.
func childrenOf(parent int) []int {
	var children []int
	list, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output() // POSIX has it
	for line := range strings.Lines(string(list)) {
		var child, itsParent int
		if _, err := fmt.Sscan(line, &child, &itsParent); err == nil && itsParent == parent {
			children = append(children, child)
		}
	}
	return children
}

// alive reports whether a process still holds resources. A zombie does not.
func alive(pid int) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}
