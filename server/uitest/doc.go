// Package uitest uses the page of the server in a browser, as a person does. It is a
// module of its own, so that nobody else downloads what drives the browser.
//
// `make ui` runs it, and installs Chromium if there is none; a plain `go test` is
// skipped without one.
package uitest
