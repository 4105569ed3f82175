//go:build unix

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of /proc, the same on every Linux.
const ticksPerSecond = 100

// sample is how much CPU was used until a moment, in seconds since each process, or
// the machine, was started.
type sample struct{ service, postgres, load, machine float64 }

// cpuOf returns what processes have used, their children included: those that they waited
// for, and those that run. It returns 0 for no
// process, and NaN when children end all the time.
func cpuOf(pids ...int) (sum float64) {
	for _, pid := range pids {
		sum += cpuOfOne(pid)
	}
	return sum
}

func cpuOfOne(pid int) float64 {
	if pid == 0 {
		return 0
	}
	for range 10 {
		own := statOf(pid)
		used := ticks(own, 11, 12, 13, 14)
		paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
		for _, path := range paths {
			if fields := statFields(path); len(fields) > 1 && string(fields[1]) == strconv.Itoa(pid) {
				used += ticks(fields, 11, 12)
			}
		}
		// A child that ended meanwhile may have been missed.
		if ticks(own, 13, 14) == ticks(statOf(pid), 13, 14) {
			return used / ticksPerSecond
		}
	}
	return math.NaN()
}

func statOf(pid int) [][]byte { return statFields(fmt.Sprintf("/proc/%d/stat", pid)) }

// statFields returns what follows the name in a process's stat, beginning with the
// state and the parent; nil when the process is gone. The name may hold anything.
func statFields(path string) [][]byte {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}

func ticks(fields [][]byte, wanted ...int) float64 {
	var sum float64
	for _, i := range wanted {
		if i < len(fields) {
			value, _ := strconv.ParseFloat(string(fields[i]), 64) // the kernel writes numbers
			sum += value
		}
	}
	return sum
}

// machineCPU returns what everything on the machine has used, and what its host gave
// to others.
func machineCPU() float64 {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := bytes.Fields([]byte(strings.TrimPrefix(line, "cpu")))
	// user, nice, system, idle, iowait, irq, softirq, steal
	return ticks(fields, 0, 1, 2, 5, 6, 7) / ticksPerSecond
}

// loadAverage is what the kernel says of the last minute; empty elsewhere.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// cpuModel names the processor; empty elsewhere than on Linux.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(text), "model name\t: ")
	model, _, _ = strings.Cut(model, "\n")
	return model
}
