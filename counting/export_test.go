package counting

// Overflow returns the share of full counters, of the whole array.
func Overflow(f *Filter) float64 { return f.share(len(f.blocks), f.fullPlanes) }
