package cluster

// What an operator sees of the cluster.

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/status"
)

// Cluster implements door.Shared.
func (d *Door) Cluster() status.Cluster {
	err := d.Refuses()
	c := status.Cluster{
		Name: d.config.Cluster, ID: d.id.Load(), Node: d.number.Load(), Session: d.session.Load(),
		Serving: d.Current() == nil, Quorum: err == nil, Err: err, Decider: d.decider(),
		Sent: d.stats.sent.Load(), Repeated: d.stats.repeated.Load(), Applied: d.stats.applied.Load(), Passed: d.stats.passed.Load(),
	}
	if p := d.config.Direct; p != nil {
		s := p.Stats()
		c.Questions = status.Questions{
			Connections: s.Lines, Asked: s.Asked, Answered: s.Answered, Unsent: s.Unsent, Unknown: s.Unknown, Sent: s.Sent, Received: s.Received,
		}
	}
	live := d.live()
	leaders, _ := d.config.Log.(Leaders)
	for i, l := range d.all() {
		v := status.Lane{Number: i, Name: l.name(), Applied: l.seq.Load(), Waiting: l.waitingBytes.Load(), Down: l.down()}
		l.send.Lock()
		v.Flight = len(l.flight)
		l.send.Unlock()
		v.Head = v.Applied
		for _, other := range live {
			if i < len(other.Applied) {
				v.Head = max(v.Head, other.Applied[i])
			}
		}
		if leaders != nil {
			v.Leader, v.Lost = leaders.Leader(i)
		}
		c.Lag += v.Head - v.Applied
		c.Quorum = c.Quorum && v.Down == nil
		c.Lanes = append(c.Lanes, v)
	}
	d.describeNodes(&c)
	dethrone(&c, d.config.Clock())
	describeLanes(&c)
	d.describeShards(&c)
	for i := range c.Nodes {
		// Another node decides: the one whose server leads the catalogue.
		if n := &c.Nodes[i]; c.Decider == 0 && n.Server != "" && n.Server == c.Lanes[0].Leader {
			c.Decider = n.Number
		}
	}
	return c
}

// leadsFor is for how long the node of a leader may be silent: it sends a beat each second, and the
// others elect another leader some seconds after its end.
const leadsFor = 5 * beatEvery / 2

// dethrone makes the leader of a lane unknown if its node is silent: what was heard of the
// lane last is then older than the news of its next leader.
func dethrone(c *status.Cluster, now time.Time) {
	silent, keep, up := map[string]bool{}, 0, 0
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Server != "" && !n.Awaited {
			silent[n.Server] = true
		}
		if n.Log && !n.Left {
			keep++
			if n.Live || n.Awaited {
				up++
			}
		}
	}
	minority := keep == 3 && up < 2 // of more log nodes, each keeps some lanes only
	for i := range c.Nodes {        // a server can be of a node that left, too
		if n := &c.Nodes[i]; n.Awaited || n.Live && now.Sub(n.Seen) <= leadsFor {
			delete(silent, n.Server)
		}
	}
	for i := range c.Lanes {
		if l := &c.Lanes[i]; minority || silent[l.Leader] {
			l.Leader, l.Lost = "", true
		}
	}
}

// describeLanes adds which lanes take no writes, or have them wait.
func describeLanes(c *status.Cluster) {
	var lost []string
	for i := range c.Lanes {
		switch l := &c.Lanes[i]; {
		case l.Down != nil && c.Err == nil: // else all of them do so
			c.Problems = append(c.Problems, status.Problem{About: "lane " + l.Name, Text: fmt.Sprintf("writes are refused: %v", l.Down), Refuses: true})
		case l.Lost:
			lost = append(lost, l.Name)
		}
	}
	if len(lost) == 0 {
		return
	}
	all := len(lost) == len(c.Lanes)
	c.Quorum = c.Quorum && !all
	text := fmt.Sprintf("no leader of these lanes answers: %s. Writes to them wait until one does, or another one is elected", strings.Join(lost, ", "))
	c.Problems = append(c.Problems, status.Problem{About: "leaders", Text: text, Refuses: all})
}

// aboutWrites is the problem that no write is taken.
const aboutWrites = "writes"

// problem adds what does not make any command fail.
func problem(c *status.Cluster, about, format string, values ...any) {
	c.Problems = append(c.Problems, status.Problem{About: about, Text: fmt.Sprintf(format, values...)})
}

// describeNodes adds the nodes, and what an operator should look at.
func (d *Door) describeNodes(c *status.Cluster) {
	if c.Err != nil {
		why := strings.TrimPrefix(strings.TrimPrefix(c.Err.Error(), door.ErrDown.Error()+": "), "cluster: ")
		c.Problems = append(c.Problems, status.Problem{About: aboutWrites, Text: "writes are refused: " + why, Refuses: true})
	}
	if n := d.stats.stray.Load(); n > 0 {
		problem(c, "stray", "the log has %d messages that no node has sent, and that are passed over: another program writes to its streams", n)
	}
	if st := d.Status(); st.Err != nil {
		problem(c, "snapshot", "the last snapshot of this node failed, and the log is not purged for it until one succeeds: %s", strings.Join(strings.Fields(st.Err.Error()), " "))
	}
	differ := d.compared.Problems()
	c.Differ = len(differ)
	if w, ok := d.config.Log.(Watched); ok {
		differ = append(differ, w.Problems()...)
	}
	for _, text := range differ {
		problem(c, text, "%s", text)
	}
	all := d.state.Roster()
	if all == nil {
		return
	}
	if doubtful(d.compareClocks()) {
		problem(c, "clocks", textDoubt)
	}
	c.Level = all.Level
	heards, now := d.beats.all(), d.tick()
	log := d.voters()
	var servers []Voter
	if log != nil {
		servers = log.Known()
	}
	digest := uint64(0)
	if d.config.Digest != nil {
		digest = d.config.Digest()
	}
	for i := range all.Members {
		m := &all.Members[i]
		v := status.Node{Number: m.Number, Name: m.Name, Addr: m.Addr, Level: m.Level, Left: m.Left, Self: m.Number == c.Node}
		v.Live = v.Self && !v.Left
		if v.Self {
			v.Seen, v.Shut = d.config.Clock(), d.shut.Load()
			v.Addr = cmp.Or(d.config.Addr, m.Addr)
			v.Data = uint64(max(d.state.Bytes(), 0))
		}
		if log != nil {
			v.Server, v.Log = m.Name, newest(all, m.Name).Number == m.Number && votes(log, servers, m.Name) != nil
		}
		if v.Log && v.Left {
			problem(c, fmt.Sprint("vote ", m.Number), "node %d was removed, and its server %s still has a vote: replace-log was not finished", m.Number, m.Name)
		}
		silent := now - time.Duration(d.beats.since.Load())
		for _, h := range heards {
			if h.Node != m.Number {
				continue
			}
			silent = now - h.seen
			v.Live, v.Shut = silent <= liveFor && !m.Left, h.Shut
			v.Seen = d.config.Clock().Add(-silent)
			v.Skew, v.Headroom, v.Data, v.Level = d.skew(&h), h.Headroom, h.Data, h.Level
			v.Addr = cmp.Or(h.Addr, m.Addr) // it may have moved since it joined
			if d.config.Direct != nil {
				v.Trip, _ = d.config.Direct.Trip(m.Number)
			}
			if v.Live && v.Skew.Abs() > warnSkew {
				problem(c, fmt.Sprint("clock ", m.Number), "the clock of node %d differs from that of this node by %v", m.Number, v.Skew.Round(time.Millisecond))
			}
			if v.Live && h.Stuck != "" {
				problem(c, fmt.Sprint("learns ", m.Number), "node %d cannot receive the shards that it is to hold: %s", m.Number, strings.Join(strings.Fields(h.Stuck), " "))
			}
			if v.Live && h.Digest != digest {
				problem(c, fmt.Sprint("settings ", m.Number), "node %d has other settings of bf-* or cf-* than this node", m.Number)
			}
		}
		v.Awaited = !v.Left && d.awaits(m.Number)
		switch {
		case v.Live || v.Left || v.Awaited:
		case m.Level == 0:
			problem(c, fmt.Sprint("down ", m.Number), "node %[1]d, which has a folder of the restore, has not started: start it, or bloomery cluster leave %[1]d --yes", m.Number)
		default:
			problem(c, fmt.Sprint("down ", m.Number), "node %d (%s) is down: nothing has been heard from it for some seconds%s", m.Number, v.Addr, takeover(all, m, v.Log, silent))
		}
		c.Nodes = append(c.Nodes, v)
	}
}

// takeover says when others take over the shards of a node that is down, "" if there are too few.
func takeover(r *roster.Roster, m *roster.Member, log bool, silent time.Duration) string {
	others := 0
	for i := range r.Members {
		if o := &r.Members[i]; !o.Left && !o.Behind && o != m {
			others++
		}
	}
	instead := fmt.Sprintf("after bloomery cluster leave %d --yes", m.Number)
	if log { // it cannot leave
		instead = "when it is replaced: bloomery cluster replace-log"
	}
	switch {
	case !r.Spread() || others < r.Shards.Copies:
		return ""
	case m.Behind:
		return "; others take over its shards"
	default:
		return fmt.Sprintf("; others take over its shards in %d minutes, or %s", int(max(0, awayFor-silent).Minutes()), instead)
	}
}

// describeShards adds how contents are spread.
func (d *Door) describeShards(c *status.Cluster) {
	r := d.state.Roster()
	if !r.Spread() {
		return
	}
	s := &c.Shards
	s.Copies, s.Paused, s.Learned = r.Shards.Copies, r.Shards.Paused, d.moves.learned.Load()
	if s.Failed = d.stuck(); s.Failed != "" {
		problem(c, "learns", "this node cannot receive the shards that it is to hold: %s", s.Failed)
	}
	s.Waits = d.movesWait(r)
	lost := 0
	for shard := range r.Shards.Places {
		live := 0
		for _, v := range r.Shards.Places[shard].Copies {
			if int(v.Node) > len(c.Nodes) {
				continue // it has joined since c was made
			}
			n := &c.Nodes[v.Node-1]
			switch v.Phase {
			case roster.Holds:
				n.Holds++
				if n.Live {
					live++
				}
			case roster.Learns:
				n.Learns++
				s.Learning++
				if n.Self {
					s.Own++
				}
			case roster.Retires:
				s.Retiring++
			}
		}
		if live < min(s.Copies, c.Members()) {
			s.Below++
		}
		if live == 0 {
			lost++
		}
	}
	if s.Below > 0 {
		problem(c, "copies", "%d of %d shards are held by fewer than %d nodes that are up", s.Below, placement.Shards, min(s.Copies, c.Members()))
	}
	if lost > 0 {
		text := fmt.Sprintf("%d shards are held by no node that is up: commands on them fail until one of their nodes is started", lost)
		c.Problems = append(c.Problems, status.Problem{About: "lost", Text: text, Refuses: true})
	}
}
