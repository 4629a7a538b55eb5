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

// Saturated is a filter whose set bits can be counted.
type Saturated interface{ saturation() float64 }

// Saturation returns the share of set bits of a whole array, which Stats may take from
// a sample.
func Saturation(f Saturated) float64 { return f.saturation() }
