// Package resp reads and writes RESP2 and RESP3, the Redis serialization
// protocol. It knows bytes, lengths and types, and nothing of commands or
// filters.
//
// [Parser] finds commands in a buffer without copying: the arguments it
// returns are slices of that buffer. The Append functions write replies, each
// at the end of a buffer that the caller owns. Neither side touches a
// connection, so a caller can parse all that it has read, run it, and write
// all replies back at once.
//
//	var p resp.Parser
//	args, n, err := p.Next(buf, nil)
//	if n > 0 { // a whole command; the next one begins at buf[n:]
//		out = resp.AppendStatus(out, "OK")
//	}
package resp

// Protocol is a version of the protocol: the form in which replies are
// written. Requests are the same in both.
type Protocol uint8

// The two versions.
const (
	RESP2 Protocol = 2
	RESP3 Protocol = 3
)
