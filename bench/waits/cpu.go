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

// sample is the CPU time used so far, in seconds since the start of each process or of the
// machine.
type sample struct{ service, postgres, load, machine float64 }

// cpuOf returns the CPU time of processes with their running and reaped children. It
// returns 0 without a process, and NaN if children keep ending.
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
		paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
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

// statFields returns the fields after the name in a process's stat, starting with the state
// and the parent; nil if the process has ended. The name may contain anything.
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

// machineCPU returns the CPU time used on the machine, including the time that its host
// gave to other machines.
func machineCPU() float64 {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := bytes.Fields([]byte(strings.TrimPrefix(line, "cpu")))
	// user, nice, system, idle, iowait, irq, softirq, steal
	return ticks(fields, 0, 1, 2, 5, 6, 7) / ticksPerSecond
}

// loadAverage returns the load average of the last minute; "" if unknown.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// cpuModel returns the processor's name; "" except on Linux.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(text), "model name\t: ")
	model, _, _ = strings.Cut(model, "\n")
	return model
}
