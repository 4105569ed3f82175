// Package kit holds what every dialect does alike: the services that a dialect is given, errors in its
// own words, the open requests of a session, the lookup of a request by its handle, what a refusal says
// about a decision that came too late, JSON objects whose members keep their order, and server-sent
// frames.
//
// A dialect is a translation in a package of its own below httpapi/dialects. It keeps
// no state that cannot be read again, imports no database, and knows no other dialect.
// This package must not know the words of any dialect, nor a store.
//
// CONTRIBUTING.md lists what a new dialect touches. In its own package, doc.go says what the contract
// is, routes.go has the table of routes, words.go the texts, codes and the reply to each error; there
// is one file for each operation. A minimal one:
//
//	func Mount(services kit.Services) wire.Face {
//		f := &face{Dialect: kit.Dialect{Services: services, Via: "NAME", Refuse: refusalOf}}
//		return f.Face(
//			wire.Get("/api/pending", auth.Read, f.listPending),
//			wire.Post("/api/decide/{id}", auth.Decide, f.decide),
//		)
//	}
package kit
