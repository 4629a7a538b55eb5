package session

// Notes is what is noted of what clients do.
type Notes struct {
	Slow     SlowLog
	Late     Latency
	Pace     Pace
	Counters *Counters
	Monitors Monitors
}

// ResetUsage begins to count again.
func (n *Notes) ResetUsage() {
	n.Counters.Reset()
	n.Pace.Reset()
}
