// Package notify tells people of what they may decide: it keeps their addresses, chooses who is told, and makes the
// messages. Channels send them.
//
// An address counts once its owner has typed the code that was sent to it. Nothing of an address is in a log, an
// event or an error.
//
// It must not know SQL, HTTP or SMTP.
package notify
