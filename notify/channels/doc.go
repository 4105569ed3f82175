// Package channels sends messages to people by e-mail, by templated HTTP requests, in Slack, and to
// their browsers. It also reads the configuration file of channels.
//
// Errors never contain an address, a secret or a server's reply.
package channels
