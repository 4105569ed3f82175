// Package webhooks manages webhook endpoints: their filters, the secrets that sign their
// deliveries, and which events each one gets. The door asks it for the endpoints of an
// event; package deliver delivers.
//
// It must not know SQL, HTTP, the rows of decisions, or the state of deliveries.
package webhooks
