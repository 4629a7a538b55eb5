package nats

// Who leads the lanes, and who keeps them.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	// watchEvery is how often quiet lanes are asked for their leaders.
	watchEvery = 3 * time.Second
	// silentFor is for how long a leader has heard nothing of a copy that counts as
	// missing.
	silentFor = 10 * time.Second
)

// watch asks every lane for its leader and its copies, now and then, until the log is
// closed.
func (l *Log) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		if l.server != nil {
			_, _ = l.Servers(context.Background()) // it remembers them
		}
		missing := map[string]bool{}
		for lane := range l.laneCount() {
			info, err := l.js.StreamInfo(l.stream(lane), nats.MaxWait(watchEvery))
			now := leader{lost: err != nil}
			if err == nil && info.Cluster != nil {
				now = leader{info.Cluster.Leader, info.Cluster.Leader == ""}
				for _, name := range silent(info.Cluster.Replicas) {
					missing[name] = true
				}
			}
			if !l.setLeader(lane, now) {
				return
			}
		}
		l.note(missing)
		select {
		case <-l.ended:
			return
		case <-tick.C:
		}
	}
}

// hearElections notes which server leads a lane as soon as it does, and has the messages
// sent again that its predecessor had. Without it they would be after ackIn: a node that
// was stopped and goes on deposes the leaders of lanes, as it has not heard from them. A
// NATS cluster of others may not let its users know of elections.
func (l *Log) hearElections() error {
	const subject = natsd.JSAdvisoryStreamLeaderElectedPre + "."
	return subscribe(l.conn, subject+"*", func(m *nats.Msg) {
		var elected natsd.JSStreamLeaderElectedAdvisory
		if err := json.Unmarshal(m.Data, &elected); err != nil {
			return
		}
		for lane := range l.laneCount() {
			if l.stream(lane) == elected.Stream {
				l.setLeader(lane, leader{server: elected.Leader})
				l.acks.elected(lane)
			}
		}
	})
}

// leader is the server that leads a lane, "" if it is not known. lost means that none does.
type leader struct {
	server string
	lost   bool
}

// setLeader notes which server leads a lane. It reports false if the log is closed.
func (l *Log) setLeader(lane int, now leader) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lane < len(l.leaders) {
		l.leaders[lane] = now
	}
	return !l.closing
}

// silent returns the servers whose copies of a stream are missing, as its leader sees it.
func silent(copies []*nats.PeerInfo) (names []string) {
	for _, c := range copies {
		if c.Offline || !c.Current && c.Active > silentFor {
			names = append(names, nameOf(c.Name))
		}
	}
	return names
}

// nameOf returns the name of a server that others report, "" if it has been away since they started: then
// they know its id only, and report a sentence.
func nameOf(reported string) string {
	if strings.HasPrefix(reported, "Server name unknown") {
		return ""
	}
	return reported
}

// note keeps what Problems returns. A server whose disk is full, or fails, switches its
// streams off for good, and all else goes on.
func (l *Log) note(missing map[string]bool) {
	var problems []string
	delete(missing, l.name) // a server without the others reports itself as silent
	if l.store.Load() && !l.keeps() {
		problems = append(problems, "this node has stopped keeping its copy of the log, since its disk is full or has failed: make room, then restart this node")
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		problems = append(problems, fmt.Sprintf("the log has a copy less: that of %s is missing", l.addrOf(name)))
	}
	l.mu.Lock()
	l.problems = problems
	l.mu.Unlock()
}

// keeps reports whether this node keeps streams at present.
func (l *Log) keeps() bool { return l.store.Load() && l.server.Load().JetStreamEnabled() }

// Problems implements cluster.Watched.
func (l *Log) Problems() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.problems // nobody changes the slice
}

// addrOf returns where the server of a log node is. Its name begins with its place in
// Join.
func (l *Log) addrOf(name string) string {
	if name == "" {
		return "a log node that has not been up since the others started"
	}
	var place int
	if n, _ := fmt.Sscanf(name, "join%d-", &place); n == 1 && place >= 1 && place <= len(l.config.Join) {
		return l.config.Join[place-1]
	}
	return name
}

// Leader implements cluster.Leaders.
func (l *Log) Leader(lane int) (server string, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lane >= len(l.leaders) {
		return "", false
	}
	return l.leaders[lane].server, l.leaders[lane].lost
}

// Leads reports whether the server of this node leads the catalogue.
func (l *Log) Leads() bool {
	return l.store.Load() && l.server.Load().JetStreamIsStreamLeader(globalAccount, l.stream(0))
}

// globalAccount is the account of connections without one.
const globalAccount = "$G"
