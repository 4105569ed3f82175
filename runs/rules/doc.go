// Package rules says which tool calls a standing rule applies to, which of several rules
// wins, and how a rule reads in plain words.
//
// It must not know how rules are loaded or written: it knows neither State nor Change.
package rules
