package main

// fillBatch is how many items a command has that fills a filter.
const fillBatch = 1000

// fill adds the numbers 0, step, 2·step and so on to a filter, so many of them. It
// sends while it waits for replies.
func fill(addr, command, filter string, count, step uint64) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	const ahead = 8 // commands
	waiting := 0
	for from := uint64(0); from < count; from += fillBatch {
		items := min(fillBatch, count-from)
		c.out = appendHead(c.out, command, filter, int(items))
		for i := range items {
			c.out = appendNumber(c.out, (from+i)*step)
		}
		if err := c.send(); err != nil {
			return err
		}
		waiting++
		if waiting == ahead {
			if _, err := c.receive(); err != nil {
				return err
			}
			waiting--
		}
	}
	for ; waiting > 0; waiting-- {
		if _, err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}
