// Package kit holds what every dialect does alike: the services that a dialect is
// given, its table of routes, errors in its own words, the open requests of a session,
// the lookup of a request by its handle, what a refusal says about a decision that came
// too late, JSON objects whose members keep their order, and server-sent frames.
//
// A dialect is a translation in a package of its own below httpapi/dialects. It keeps
// no state that cannot be read again, imports no database, and knows no other dialect.
// This package must not know the words of any dialect, nor a store.
//
// # Adding a dialect
//
// A new dialect touches seven places:
//
//   - its package, httpapi/dialects/NAME/: doc.go says what the contract is, routes.go
//     holds Mount or New and the table of routes, words.go the texts, codes and the
//     reply to each error, and there is one file for each operation, and the suite on
//     top of httpapi/dialects/dialecttest;
//   - cli/serve/dialects.go, where it is named and mounted;
//   - its page in docs, for who uses it, and its row in docs/faces.md;
//   - its page in docs/spec, the contract itself, whose headings comments may cite;
//   - a face in test/faces, which races it against all others;
//   - test/archtest and depguard in .golangci.yml, only when it links more than the
//     others do.
//
// A minimal one:
//
//	func Mount(router chi.Router, services kit.Services) {
//		f := &face{Face: kit.Face{Services: services, Via: "NAME", Refuse: refusalOf}}
//		f.Routes(router, []kit.Route{
//			{Methods: kit.GetAndHead, Path: "/api/pending", Handle: f.listPending},
//			{Methods: kit.PostOnly, Path: "/api/decide/{id}", Handle: f.decide},
//		})
//	}
package kit
