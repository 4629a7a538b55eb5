package cluster

// Beats: what every node sends to all others each second.

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/wire"
)

const (
	beatEvery = time.Second
	// liveFor is how long a node counts as live after its last beat.
	liveFor = 5 * time.Second
	// grace is how long other nodes leave to the one that decides what is due.
	grace = 5 * time.Second
)

// beat is what a node sends to all others each second. Nothing that has to be right
// depends on it.
type beat struct {
	node     uint32
	level    uint64
	at       int64  // milliseconds since 1970
	digest   uint64 // of settings
	headroom uint64
	applied  []uint64 // by lane
	kept     []uint64 // by lane: all up to here is in a durable snapshot
	sums     []partSum
	addr     string // where clients reach the node, "" from releases that do not send it
	peer     string // where other nodes ask it, see package peers; "" if they do not
	data     uint64 // bytes of its data, 0 from releases that do not send it
	stuck    string // why it cannot learn what it is to hold, "" if it can
}

const beatVersion = 1

func (v *beat) bytes(cluster uint64) []byte {
	b := []byte{beatVersion}
	b = binary.LittleEndian.AppendUint64(b, cluster)
	b = binary.LittleEndian.AppendUint64(b, v.digest)
	for _, n := range []uint64{uint64(v.node), v.level, uint64(v.at), v.headroom, uint64(len(v.applied))} {
		b = binary.AppendUvarint(b, n)
	}
	for i := range v.applied {
		b = binary.AppendUvarint(b, v.applied[i])
		b = binary.AppendUvarint(b, v.kept[i])
	}
	b = appendSums(b, v.sums)
	b = wire.AppendBytes(b, v.addr)
	b = wire.AppendBytes(b, v.peer)
	b = binary.AppendUvarint(b, v.data)
	return wire.AppendBytes(b, v.stuck)
}

// parseBeat reads a beat of a cluster. Beats of other versions are passed over.
func parseBeat(b []byte, cluster uint64) (v beat, err error) {
	bad := fmt.Errorf("cluster: beat: %w", bloomery.ErrCorrupt)
	if len(b) < 9 || b[0] != beatVersion || beatCluster(b) != cluster {
		return v, bad
	}
	c := wire.Reader{Rest: b[9:]}
	v.digest = c.Uint64()
	node := c.Uvarint()
	v.level, v.at, v.headroom = c.Uvarint(), int64(c.Uvarint()), c.Uvarint()
	lanes := c.Uvarint()
	if c.Bad || node == 0 || node > roster.MaxMembers || lanes > roster.MaxLanes+2 {
		return v, bad
	}
	v.node = uint32(node)
	for ; lanes > 0; lanes-- {
		v.applied = append(v.applied, c.Uvarint())
		v.kept = append(v.kept, c.Uvarint())
	}
	if len(c.Rest) > 0 { // there are releases that send no sums
		v.sums = parseSums(&c)
	}
	if len(c.Rest) > 0 { // and those that send no address
		v.addr = string(c.Bytes())
	}
	if len(c.Rest) > 0 { // nor where they are asked
		v.peer = string(c.Bytes())
	}
	if len(c.Rest) > 0 { // nor how much they hold
		v.data = c.Uvarint()
	}
	if len(c.Rest) > 0 { // nor what keeps them from holding more
		v.stuck = string(c.Bytes()) // what later releases put behind it is passed over
	}
	if c.Bad {
		return v, bad
	}
	return v, nil
}

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
	beat
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
	v := beat{node: d.number.Load(), level: d.level, at: d.config.Clock().UnixMilli(), headroom: 1 << 62, addr: d.config.Addr, data: uint64(max(d.state.Bytes(), 0))}
	if d.config.Direct != nil {
		v.peer = d.config.Direct.Addr()
	}
	if d.config.Digest != nil {
		v.digest = d.config.Digest()
	}
	if d.config.Headroom != nil {
		v.headroom = d.config.Headroom()
	}
	for _, l := range d.all() {
		v.applied = append(v.applied, l.seq.Load())
		v.kept = append(v.kept, l.kept.Load())
	}
	v.sums = d.compared.some()
	v.stuck = d.stuck()
	return v.bytes(d.id.Load())
}

// hear takes the beat of another node.
func (d *Door) hear(b []byte) {
	v, err := parseBeat(b, d.id.Load())
	if err != nil || v.node == d.number.Load() {
		return
	}
	t := &d.beats
	t.mu.Lock()
	if t.heard == nil {
		t.heard = map[uint32]heard{}
	}
	seen := d.tick()
	t.heard[v.node] = heard{v, seen, v.at - seen.Milliseconds()}
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
		if m := d.state.Roster().Member(v.node); now-v.seen <= liveFor && m != nil && !m.Left {
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
		own = min(own, v.node)
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
