package roster_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// The simulation of moves runs nodes that hold different shards: each step lets one of them
// do the next thing that it may do, in an order that a seed decides. The table of shards is
// the real one, with the records of this package; lanes, snapshots, contents and questions
// between nodes are as small as the rules about them allow. Nodes are cut from power, paused,
// lose their folders, join and leave; messages are late, lost, kept twice; nodes that decide
// know the table as it was some time ago, and disagree. After every step the laws are asked
// for: see moves_laws_test.go.
//
// What it lacks: removed filters, groups, memory, rebuilds.

const (
	simShards  = 2
	simFilters = 4
	simLanes   = 2 // of contents, besides the catalogue
	simMembers = 9 // numbers that are given at most
	simWrites  = 60
	liveFor    = 150 // steps for which a node counts as heard of
)

// Filter f has one part, in shard f mod 2. Each shard has parts in both lanes.
func shardOf(f int) int { return f % simShards }
func laneOf(f int) int  { return 1 + (f/2^f%2)%simLanes }

// world is one run.
type world struct {
	random *rand.Rand
	broken rule
	step   int
	state  *store.State // at the end of the catalogue
	tables []*roster.Roster
	made   [simFilters]int // the place in the catalogue at which a filter was made
	lanes  [1 + simLanes]lane
	out    []*outgoing
	nodes  []*node // by number, from 1 on
	asked  []*question
	writes int
	acked  [simFilters]uint64
	target uint64 // changes when a decider wants other nodes to hold shards
	wild   bool   // deciders propose anything
	slow   int    // this node is slow in its lanes
	deaf   int    // nodes whose numbers have this sum do not hear each other
	pace   [paces]int
	lazy   bool // learners take their time to read the log
	nonces int64
	err    error
	trace  []string // if it is wanted
	traced bool
}

// lane is a stream, and what its messages come to for whoever applies all of them.
type lane struct {
	messages []message
	first    int // what is before is purged; sequences begin with 1
	senders  senders
	parts    [simFilters]part
	sums     [][simFilters]uint64 // of parts, by sequence
}

// message is one of the catalogue or of a lane.
type message struct {
	body    store.Body // a record of the catalogue, nil if it is something else
	made    int        // the filter that it makes, plus 1
	write   int        // to filter, plus 1
	filter  int
	from    int    // number of the node, 0 if the table of senders does not recognise it
	session uint64 // of the node
	counter int
	after   int // place of the catalogue that has to be applied before
	ask     *question
	life    int
	knew    *roster.Roster // the sender of body
}

// outgoing is a message on its way.
type outgoing struct {
	lane  int
	m     message
	times int
}

// part is contents: which writes it has, and a sum that says in which order, and how often.
type part struct {
	has uint64
	sum uint64
	pos int // what is up to here is in it
}

func (p *part) write(w, seq int) {
	p.has |= 1 << w
	p.sum = mix64(p.sum + uint64(w) + 1)
	p.pos = seq
}

func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// senders recognises messages that were kept twice, or by a process that has ended.
type senders [simMembers + 1]struct {
	session uint64
	seen    [4]uint64
}

func (t *senders) take(m *message) bool {
	e := &t[m.from]
	if m.session < e.session {
		return false
	}
	if m.session > e.session {
		e.session, e.seen = m.session, [4]uint64{}
	}
	word, bit := m.counter>>6&3, uint64(1)<<(m.counter&63)
	if e.seen[word]&bit != 0 {
		return false
	}
	e.seen[word] |= bit
	return true
}

// node is a machine and its process.
type node struct {
	number  int
	up      bool
	serving bool
	gone    bool  // for ever
	damaged int64 // it has lost its snapshot when there were so many nonces, and has had no session since
	paused  int   // until this step
	life    int   // number of the process
	disk    *saved

	// The process.
	nonce    int64
	session  uint64
	counter  int
	barriers int // of its start that have come back
	pos      [1 + simLanes]int
	senders  [1 + simLanes]senders
	parts    [simFilters]*part
	has      *roster.Holdings
	learning *learning
	lent     map[*learning][1 + simLanes]int // what others read the log from
	saving   *saved
	heard    [simMembers + 1]beat
	flight   [simShards]int // own writes on their way
	answered [1 + simLanes]int
	seen     [simFilters]uint64 // by reads
	acked    [simFilters]uint64
	purge    *[1 + simLanes]int // what it will drop of the log
}

// saved is a snapshot.
type saved struct {
	phase   int
	pos     [1 + simLanes]int
	senders [1 + simLanes]senders
	parts   [simFilters]*part
	held    []roster.Held
	fetched bool // it is that of another node, without contents
}

// beat is what another node has said.
type beat struct {
	at   int
	kept [1 + simLanes]int
}

// learning is a copy that comes into being.
type learning struct {
	shard  int
	since  uint64
	source *node
	parts  [simFilters]*frozen
}

// frozen is a part of another node, and the log behind it.
type frozen struct {
	part
	senders senders
}

func newWorld(seed uint64, broken rule) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 48)), broken: broken, state: store.New()}
	w.wild, w.target = w.random.IntN(3) == 0, w.random.Uint64()
	w.slow, w.deaf = w.random.IntN(7), w.random.IntN(10)
	for i := range w.pace {
		w.pace[i] = 1 << w.random.IntN(4)
	}
	switch w.random.IntN(6) {
	case 0: // snapshots and purges, and slow moves
		w.pace = [paces]int{reading: 4, keeping: 4, troubling: 4, calling: 8, asking: 4, saving: 8, learns: 1, reporting: 4, deciding: 4, beating: 8, purging: 8, givingUp: 8}
	case 1: // many moves and calls
		w.pace = [paces]int{reading: 2, keeping: 3, troubling: 1, calling: 6, asking: 6, saving: 4, learns: 6, reporting: 6, deciding: 8, beating: 2, purging: 1, givingUp: 1}
	case 2: // quick snapshots and purges, behind learners that take their time
		w.pace = [paces]int{reading: 5, keeping: 5, troubling: 1, calling: 8, asking: 6, saving: 16, learns: 4, reporting: 1, deciding: 4, beating: 16, purging: 16, givingUp: 2}
		w.lazy = true
	}
	table := &roster.Shards{Copies: 2, Changes: 1, Places: make([]roster.Place, simShards)}
	first := &roster.Roster{ID: 1, Lanes: simLanes, Level: store.LevelShards, Holders: make([][]uint32, simLanes+2), Shards: table}
	for i := range w.lanes {
		w.lanes[i] = lane{first: 1, messages: make([]message, 1), sums: make([][simFilters]uint64, 1)}
	}
	w.nodes = []*node{nil}
	for i := 1; i <= 4; i++ {
		first.Sessions++
		w.nonces++
		first.Members = append(first.Members, roster.Member{Number: uint32(i), Joined: w.nonces, Session: first.Sessions, Nonce: w.nonces, Weight: 9})
		n := w.add()
		n.up, n.serving, n.life, n.session, n.nonce = true, true, 1, first.Sessions, w.nonces
	}
	for s := range simShards {
		list := []roster.Copy{{Node: uint32(1 + s), Phase: roster.Holds, Since: 1}, {Node: uint32(2 + s), Phase: roster.Holds, Since: 1}}
		table.Places[s] = roster.Place{Version: 1, Copies: list}
	}
	w.state.SetRoster(first)
	w.tables = []*roster.Roster{first}
	w.made = [simFilters]int{2: -1, 3: -1}
	for _, n := range w.nodes[1:] {
		n.has = roster.NewHoldings(uint32(n.number), roster.Everything(uint32(n.number), table))
		n.has.Follow(table)
		for f := range 2 {
			if n.has.Whole(shardOf(f)) {
				n.parts[f] = &part{}
			}
		}
		n.disk = n.save()
	}
	return w
}

// add adds a machine that does not run.
func (w *world) add() *node {
	n := &node{number: len(w.nodes), lent: map[*learning][1 + simLanes]int{}}
	w.nodes = append(w.nodes, n)
	return n
}

func (w *world) odds(n int) bool { return w.random.IntN(n) == 0 }

func (w *world) note(format string, args ...any) {
	if w.traced {
		w.trace = append(w.trace, fmt.Sprintf("%4d ", w.step)+fmt.Sprintf(format, args...))
	}
}

func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
		w.note("FAILS %v", w.err)
	}
}

// view returns the table as a node knows it.
func (w *world) view(n *node) *roster.Roster { return w.tables[n.pos[0]] }

// copyOf returns what a node has of a shard, as it knows.
func (w *world) copyOf(n *node, shard int) roster.Copy {
	return w.view(n).Shards.Places[shard].Copy(uint32(n.number))
}

// knows reports whether a node knows a filter.
func (w *world) knows(n *node, f int) bool { return w.made[f] >= 0 && w.made[f] <= n.pos[0] }

// send puts a message on its way.
func (w *world) send(n *node, to int, m message) {
	if n.counter++; n.counter > 255 {
		w.cut(n) // a process of this size ends here
		return
	}
	m.from, m.session, m.counter, m.life, m.after = n.number, n.session, n.counter, n.life, n.pos[0]
	w.out = append(w.out, &outgoing{lane: to, m: m})
	w.note("n%d sends to %d: %s", n.number, to, m.String())
}

// record sends a record of the catalogue.
func (w *world) record(n *node, body store.Body) {
	w.send(n, 0, message{body: body, knew: w.view(n)})
}

func (m *message) String() string {
	switch {
	case m.body != nil:
		return fmt.Sprintf("%T%+v", m.body, m.body)
	case m.made > 0:
		return fmt.Sprintf("make f%d", m.made-1)
	case m.write > 0:
		return fmt.Sprintf("write w%d to f%d", m.write-1, m.filter)
	}
	return "barrier"
}

// deliver has the log keep a message, and now and then keep it on its way, to be kept again.
func (w *world) deliver(i int) {
	o := w.out[i]
	if o.times++; o.times == 3 || !w.odds(4) {
		w.out = append(w.out[:i], w.out[i+1:]...)
	}
	w.keep(o.lane, o.m)
}

// keep puts a message at the end of a lane.
func (w *world) keep(to int, m message) {
	l := &w.lanes[to]
	l.messages = append(l.messages, m)
	seq := len(l.messages) - 1
	w.note("%s of n%d is %d/%d", m.String(), m.from, to, seq)
	if to == 0 {
		w.decideAt(seq, &m)
		return
	}
	l.sums = append(l.sums, l.sums[seq-1])
	if l.senders.take(&m) && m.write > 0 {
		p := &l.parts[m.filter]
		if p.has&(1<<(m.write-1)) != 0 {
			w.fail("w%d is applied twice", m.write-1)
		}
		p.write(m.write-1, seq)
		l.sums[seq][m.filter] = p.sum
	}
}

// decideAt has the catalogue change where a message has its place.
func (w *world) decideAt(seq int, m *message) {
	before := w.state.Roster()
	if m.body != nil {
		r, res := store.Record{Body: m.body}, store.Result{}
		w.state.Names.Lock()
		store.Apply(w.state, &r, nil, &res)
		w.state.Names.Unlock()
		if res.Changed {
			w.judge(before, m)
		} else {
			w.note("  void: %v", res.Err)
		}
	}
	if m.made > 0 && w.made[m.made-1] < 0 {
		w.made[m.made-1] = seq
	}
	w.tables = append(w.tables, w.state.Roster())
}

// cut ends the process of a node, as a power cut does.
func (w *world) cut(n *node) {
	w.note("n%d is cut", n.number)
	if n.learning != nil {
		n.stopLearning()
	}
	*n = node{number: n.number, gone: n.gone, damaged: n.damaged, life: n.life, disk: n.disk}
	for _, q := range w.asked {
		if q.asker == n || q.holder == n && q.phase <= proposed {
			q.lose(w)
		}
	}
}
