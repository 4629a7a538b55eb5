package health

// The share of a core that measuring may take.

import "time"

// account bounds the time that is spent to a share of a core. Whatever is done is
// timed and charged; the wait that follows is as long as the share asks for. Time
// in which nothing was done is not saved up.
type account struct {
	share float64
	spent time.Duration // in all
	owed  time.Duration // of waiting
	since time.Time     // of the first charge
}

// leastCharge is what the shortest piece of work counts as: a clock may be too
// coarse to see it.
const leastCharge = time.Microsecond

// charge notes that work took so long.
func (a *account) charge(took time.Duration) {
	took = max(took, leastCharge)
	a.spent += took
	a.owed += time.Duration(float64(took) / a.share)
}

// settle returns how long to wait, and counts on it that the caller does.
func (a *account) settle() time.Duration {
	wait := a.owed
	a.owed = 0
	return wait
}
