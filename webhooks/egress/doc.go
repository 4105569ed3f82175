// Package egress is how the service calls addresses that others chose: a guard that looks at the
// resolved address when it is dialed, follows no redirect, uses no proxy of the environment, and
// bounds time and bytes of each call.
//
// It must not know what is sent, nor to whom it is owed.
package egress
