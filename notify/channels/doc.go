// Package channels sends messages to people by e-mail and by templated HTTP requests. It also reads
// the configuration file of channels.
//
// Errors never contain an address, a secret or a server's reply.
package channels
