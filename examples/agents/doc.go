// Package agents holds two small agents that need no model and no network: [ShellPlan] runs
// shell commands and asks before each risky one, and [Interview] asks a person several
// questions and writes a file from the answers. They are meant to be read. They only use
// holdpoint's Go client; their requests appear on every other face as well.
package agents
