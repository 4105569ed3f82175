// Package channels sends messages to people: by e-mail, and by HTTP requests that templates make. It reads the file
// that configures them.
//
// The errors of a channel show no address, no secret and nothing that a server answered.
package channels
