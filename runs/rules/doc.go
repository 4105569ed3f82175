// Package rules decides which tool calls a standing rule matches and which of several rules wins
// (docs/spec/v1.md#precedence), and describes rules in plain words.
//
// It must not know how rules are loaded, counted or written: it knows neither State nor Change,
// and does not change the rules it gets.
package rules
