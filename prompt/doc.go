// Package prompt turns a request and its outcome into what a person reads: labelled rows, the command of a
// tool call in one line, and words for how a decision was made. Every face that shows a request takes them
// from here, so that a new member is added in one place.
//
// Texts are returned as the agent wrote them. A face escapes them in its own way before it shows them. The
// package knows the documents of the API and nothing else.
package prompt
