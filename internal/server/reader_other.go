//go:build !unix

package server

import "io"

// reader reads through the connection, with a buffer that it keeps while it
// waits.
type reader struct{}

func newReader(*conn) (reader, error) { return reader{}, nil }

func (reader) read(c *conn) (int, error) {
	n, err := c.nc.Read(c.space())
	c.took(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// now reads nothing: there is no way to ask without waiting.
func (reader) now(*conn) (int, error) { return 0, io.EOF }
