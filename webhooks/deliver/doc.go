// Package deliver carries out what decisions owe to webhooks: each endpoint has a lane of its own
// that posts, signs and retries, in the order of each session's events, so that an endpoint or a
// session that fails holds up nobody else.
//
// It must not know SQL, nor decide anything: what an attempt led to goes through the door.
package deliver
