//go:build !unix

package server

// loop reads, runs and writes until the client leaves.
func (c *conn) loop() error {
	for {
		space, err := c.space()
		if err != nil {
			return err
		}
		n, err := c.nc.Read(space)
		if n > 0 {
			err = c.took(n)
		}
		if err != nil {
			return err
		}
	}
}
