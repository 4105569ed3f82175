// Package notify notifies people of requests that they may decide. It stores their addresses,
// selects the recipients and writes the messages. Channels send them.
//
// An address is used only after its owner has entered the code sent to it. Addresses never appear
// in logs, events or errors.
//
// The package must not know SQL, HTTP or SMTP.
package notify
