package health

// Hysteresis: a noisy measure becomes a state.

// The hysteresis of a symptom.
const (
	// toEnter and toLeave are how many evaluations in a row it takes.
	toEnter = 3
	toLeave = 3
	// leaveBelow is the share of its threshold below which a symptom can end.
	leaveBelow = 0.9
)

// latch turns a noisy measure into a state: it is on after 3 evaluations in a row
// beyond the threshold, and off again after 3 in a row below 0.9 of it.
type latch struct {
	on   bool
	runs uint8 // evaluations in a row that ask for a change
}

// step evaluates a measure as a multiple of its threshold, and reports whether the
// latch is on.
func (l *latch) step(measure float64) bool {
	need := uint8(toEnter)
	wants := measure > 1
	if l.on {
		need, wants = toLeave, measure < leaveBelow
	}
	if !wants {
		l.runs = 0
		return l.on
	}
	if l.runs++; l.runs >= need {
		l.on, l.runs = !l.on, 0
	}
	return l.on
}
