package quotient

// Nth, Saturated and Check are for tests of what cannot be seen from outside.
var Nth = nth

// Check returns an error if the array of f is not that of a multiset with the
// totals that f knows.
func Check(f *Filter) error { return f.verify() }

// Saturated returns how many blocks of f have an offset that does not fit.
func Saturated(f *Filter) (n int) {
	for b := range f.blocks {
		if f.offset(b) == saturated {
			n++
		}
	}
	return n
}

// Split returns quotient and remainder of a hash in f.
func Split(f *Filter, h uint64) (quotient, remainder uint64) { return f.split(h) }
