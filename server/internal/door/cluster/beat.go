package cluster

// Beats: what every node sends to all others each second.

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/heartbeat"
	"github.com/bloomery/bloomery/server/internal/peers"
)

const (
	beatEvery = heartbeat.Every
	// liveFor is how long a node counts as live after its last beat.
	liveFor = 5 * time.Second
	// grace is how long other nodes leave to the one that decides what is due.
	grace = 5 * time.Second
)

// beats is what was heard of other nodes.
//
// Safe for concurrent use.
type beats struct {
	// mu guards heard.
	mu    sync.Mutex
	heard map[uint32]heard // by node
	since atomic.Int64     // when this node began to listen, as Door.tick counts; 0 if it has not
	clock clockVerdict
	full  atomic.Uint64 // the smallest headroom of live nodes, inverted: 0 for no bound
}

type heard struct {
	heartbeat.Beat
	seen  time.Duration // as Door.tick counts
	ahead int64         // its clock when it was seen, less seen, in milliseconds
}

// all returns the last beat of each node, in the order of their numbers.
func (t *beats) all() []heard {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]heard, 0, len(t.heard))
	for _, n := range slices.Sorted(maps.Keys(t.heard)) {
		list = append(list, t.heard[n])
	}
	return list
}

// talk begins to send beats and to hear those of others.
func (d *Door) talk() error {
	d.beats.since.Store(int64(d.tick()))
	if d.config.Peers == nil {
		return nil
	}
	if p := d.config.Direct; p != nil {
		d.later(func() { _ = p.Close() })
		p.Serve(d.number.Load(), func(q *peers.Asked, _ []byte) []byte { return d.respond(q.Body, q.Aside) })
	}
	stop, err := d.config.Peers.Serve(d.number.Load(), d.hear, d.question)
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	d.later(stop)
	d.tasks.Go(func() {
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			d.config.Peers.Announce(d.beat())
			d.measure()
			d.forgetLeft()
			select {
			case <-d.closed:
				return
			case <-ticker.C:
			}
		}
	})
	return nil
}

// beat returns what this node sends to others.
func (d *Door) beat() []byte {
	v := heartbeat.Beat{Node: d.number.Load(), Level: d.level, At: d.config.Clock().UnixMilli(), Headroom: 1 << 62, Addr: d.config.Addr, Data: uint64(max(d.state.Bytes(), 0))}
	if d.config.Direct != nil {
		v.Peer = d.config.Direct.Addr()
	}
	if d.config.Digest != nil {
		v.Digest = d.config.Digest()
	}
	if d.config.Headroom != nil {
		v.Headroom = d.config.Headroom()
	}
	for _, l := range d.all() {
		v.Applied = append(v.Applied, l.seq.Load())
		v.Kept = append(v.Kept, l.kept.Load())
	}
	v.Sums = d.compared.Some()
	v.Stuck, v.Shut = d.stuck(), d.shut.Load()
	return v.Bytes(d.id.Load())
}

// Shut has other nodes send no clients to this one, or send them again: they learn it at once.
func (d *Door) Shut(shut bool) {
	d.shut.Store(shut)
	if d.config.Peers != nil && d.serving.Load() {
		d.config.Peers.Announce(d.beat())
	}
}

// hear takes the beat of another node.
func (d *Door) hear(b []byte) {
	v, err := heartbeat.Parse(b, d.id.Load())
	if err != nil || v.Node == d.number.Load() {
		return
	}
	t := &d.beats
	t.mu.Lock()
	if t.heard == nil {
		t.heard = map[uint32]heard{}
	}
	seen := d.tick()
	t.heard[v.Node] = heard{v, seen, v.At - seen.Milliseconds()}
	t.mu.Unlock()
	d.know(&v)
	d.checkClock()
	d.measure()
	d.suspects(&v)
	d.compare(&v)
}

// live returns the beats of other nodes that were heard of lately.
func (d *Door) live() (list []heard) {
	now := d.tick()
	for _, v := range d.beats.all() {
		if m := d.state.Roster().Member(v.Node); now-v.seen <= liveFor && m != nil && !m.Left {
			list = append(list, v)
		}
	}
	return list
}

// awaits reports whether a node that was not heard of may be live: this one has not
// listened for long enough to know.
func (d *Door) awaits(node uint32) bool {
	since := time.Duration(d.beats.since.Load())
	if since != 0 && d.tick()-since > liveFor {
		return false
	}
	d.beats.mu.Lock()
	defer d.beats.mu.Unlock()
	_, heard := d.beats.heard[node]
	return !heard && node != d.number.Load()
}

// decider returns the number of the node that decides, as far as is known here. It is
// a hint: what a node does because it decides is harmless if two do it.
func (d *Door) decider() uint32 {
	own := d.number.Load()
	if d.config.Leads != nil {
		if d.config.Leads() {
			return own
		}
		return 0
	}
	for _, v := range d.live() {
		own = min(own, v.Node)
	}
	return own
}

// Decides reports whether this node is the one that removes what has expired, lets
// time pass for windows and purges the log.
func (d *Door) Decides() bool { return d.decider() == d.number.Load() }

// Grace implements door.Shared. A clock that is ahead of most others removes nothing
// before its time.
func (d *Door) Grace() time.Duration {
	if d.Decides() {
		return d.fast()
	}
	return d.fast() + grace
}

// compare compares the sums of a beat with those of this node.
func (d *Door) compare(v *heartbeat.Beat) {
	for _, s := range v.Sums {
		text := func() string {
			name := fmt.Sprintf("part %d", s.Part)
			if e := d.state.Names.ByID(s.Part); e != nil {
				name = fmt.Sprintf("filter %q", e.Name())
			}
			return fmt.Sprintf("%s differs from that of node %d, though both have had the same records: one of them is damaged", name, v.Node)
		}
		d.compared.Check(v.Node, s, text)
	}
}
