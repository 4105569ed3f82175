// Package rules decides which tool calls a standing rule matches, which of several rules wins
// (docs/spec/v1.md#precedence), and what a rule says in plain words.
//
// It must not know how rules are loaded, counted or written: it knows neither State nor Change,
// and changes no rule that it is given.
package rules
