// Package links serves the pages of the links in messages: /l/ and a secret. A page is HTML without a
// script, for a phone, and for people who are not signed in.
//
// GET and HEAD change nothing and show the tool and the deadline. A person who decides here types the
// code that is printed in the message next to the link, reads the whole input, and presses a button.
// So a program that opens every address of a mail, and presses every button, decides nothing. The
// decision is an ordinary command of that person, with all its checks.
//
// It must not know the store, or how links are made.
package links
