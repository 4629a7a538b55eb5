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

// LayerRates returns the sum of the rates that the layers of s were made for.
func LayerRates(s *Scalable) (sum float64) {
	for i := range s.layers {
		sum += s.layers[i].rate
	}
	return sum
}
