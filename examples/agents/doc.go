// Package agents holds two small agents that need no model and no network: [ShellPlan]
// runs shell commands and asks before each risky one, and [Interview] asks a person
// several things and writes a file from the answers. They are made to be read. What
// they know of holdpoint is its Go client; every other face sees their waits as well.
package agents
