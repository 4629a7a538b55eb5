package nats

// Who leads the lanes.

import (
	"time"

	"github.com/nats-io/nats.go"
)

// watchEvery is how often quiet lanes are asked for their leaders.
const watchEvery = 3 * time.Second

// watch asks every lane for its leader, now and then, until the log is closed.
func (l *Log) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.ended:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		n := len(l.leaders)
		l.mu.Unlock()
		for lane := range n {
			info, err := l.js.StreamInfo(l.stream(lane), nats.MaxWait(watchEvery))
			leader := ""
			if err == nil && info.Cluster != nil {
				leader = info.Cluster.Leader
			}
			l.mu.Lock()
			if l.closing {
				l.mu.Unlock()
				return
			}
			if lane < len(l.leaders) {
				l.leaders[lane] = leader
			}
			l.mu.Unlock()
		}
	}
}

// Leader returns the name of the server that leads a lane, "" if none is known.
func (l *Log) Leader(lane int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lane >= len(l.leaders) {
		return ""
	}
	return l.leaders[lane]
}

// Leads reports whether the server of this node leads the catalogue.
func (l *Log) Leads() bool {
	return l.store && l.server.JetStreamIsStreamLeader(globalAccount, l.stream(0))
}

// globalAccount is the account of connections without one.
const globalAccount = "$G"
