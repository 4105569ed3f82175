// Package webhooks holds what the service tells other systems of by HTTP: endpoints with their
// filters, the secrets that deliveries are signed with, and who may be told what. The door asks it
// which endpoints an event is owed to; package deliver carries that out.
//
// It must not know SQL, HTTP, the rows of decisions, or what happens to a delivery.
package webhooks
