//go:build !linux || race

package peers

import "net"

// unwatched returns conn: see socket_linux.go.
func unwatched(conn net.Conn) net.Conn { return conn }
