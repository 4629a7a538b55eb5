package bloom

// LockAll takes all locks of c.
func LockAll(c *Concurrent) {
	for i := range c.locks {
		c.locks[i].Lock()
	}
}

// UnlockAll gives all locks of c back.
func UnlockAll(c *Concurrent) {
	for i := range c.locks {
		c.locks[i].Unlock()
	}
}
