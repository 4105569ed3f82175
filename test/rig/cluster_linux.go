package rig

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// childrenOf returns the processes that a process has started.
func childrenOf(parent int) []int {
	var children []int
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, path := range paths {
		fields := statFields(path)
		if len(fields) < 2 || string(fields[1]) != strconv.Itoa(parent) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			children = append(children, pid)
		}
	}
	return children
}

// alive reports whether a process still holds resources. A zombie does not.
func alive(pid int) bool {
	fields := statFields(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return len(fields) > 0 && string(fields[0]) != "Z" && string(fields[0]) != "X"
}

// statFields returns the fields of a process's stat from the state and the parent on. The name
// before them may contain spaces and brackets.
func statFields(path string) [][]byte {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil // it is gone
	}
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}
