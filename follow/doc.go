// Package follow keeps a copy of a filter that is published elsewhere. The filter is kept in
// one place, thousands of programs ask their own copy of it in nanoseconds, and few bytes
// keep the copies up to date.
//
//	f, err := follow.Open(ctx, follow.Config{Address: "https://example.org/filters", Filter: "blocked"})
//	...
//	if f.Contains(key) { … }
//	f.Close()
//
// What is followed is a folder that any web server or bucket serves. Publish writes it: the
// filters in the transport form, patches between their last versions, and an index with
// versions and sums. docs/follow.md has the layout, and which headers a web server should
// send.
//
// A server is followed, too: Address is redis://host:port, and Filter the key of the filter.
// Then changes come as soon as they are made, and a copy is the filter of the server, byte for
// byte. That of a BF or CF is what DUMP answers, which package foreign/redisbloom reads.
//
// A copy is always one complete version: a new one is downloaded beside the old one, its
// SHA-256 is compared with that of the index, and then it takes the old one's place at once.
// Until then, and if anything goes wrong, the old one answers.
package follow
