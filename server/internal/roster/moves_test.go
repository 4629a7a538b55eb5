package roster_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// rule is a rule of those who send records, ask questions or keep contents, which a run does
// without.
type rule int

const (
	noRule              rule = iota
	holdsEarly               // a shard is held before a durable snapshot has it
	savesLate                // a snapshot counts shards that came while it was taken
	plainSession             // a node that had to fetch does not say so
	withoutSenders           // a learner does not know which messages were kept twice
	withoutLog               // it does not read the log behind what it was given
	overGap                  // it goes on behind what was purged
	installsAhead            // it does not wait for its own tail
	answersEarly             // it answers before it holds the shard
	retiresAtOnce            // a node that retires does not wait for its own writes
	servesEarly              // a node serves before it has come through its lanes
	behindGoesOn             // a node that was given up does not start again
	unheardHolders           // a node is given up though no other holder was asked
	unaskedRetire            // a node is to retire though no other holder was asked
	byLiveness               // the log is purged without nodes that are away
	withoutOwn               // it is purged without the own snapshot
	asksWithoutPlace         // a holder does not wait for the catalogue of who asks
	asksWithoutSequence      // nor for the lane
	readsAtOnce              // a local read waits for nothing
	readsForgotten           // what reads have seen is forgotten
	answersBeforeTail        // a write is answered before the own tail has it
	ownerAtOnce              // reads that must miss nothing send no barrier
	writesAgain              // a write that was sent is sent to another holder
	rules
)

// broken has, for every rule, its name and a seed that shows what it is for.
var broken = map[rule]struct {
	name string
	seed uint64
}{
	holdsEarly: {"holds early", 1}, savesLate: {"saves late", 413}, plainSession: {"plain session", 1}, withoutSenders: {"without senders", 19},
	withoutLog: {"without log", 3}, overGap: {"over gap", 24}, installsAhead: {"installs ahead", 3}, answersEarly: {"answers early", 3},
	retiresAtOnce: {"retires at once", 171}, servesEarly: {"serves early", 92}, behindGoesOn: {"behind goes on", 14},
	unheardHolders: {"unheard holders", 77}, unaskedRetire: {"unasked retire", 11585}, byLiveness: {"by liveness", 18}, withoutOwn: {"without own", 18},
	asksWithoutPlace: {"asks without place", 35}, asksWithoutSequence: {"asks without sequence", 19}, readsAtOnce: {"reads at once", 118},
	readsForgotten: {"reads forgotten", 52}, answersBeforeTail: {"answers before tail", 638}, ownerAtOnce: {"owner at once", 18}, writesAgain: {"writes again", 6},
}

// waived has, for every condition of Apply, a seed that shows what it is for.
var waived = map[string]uint64{
	"a node learns the shard":                       39,
	"moves are paused":                              23,
	"no other node holds a shard of the node":       118,
	"the copy is another one":                       3,
	"the node does not hold the shard":              1,
	"the node does not learn the shard":             1,
	"the node does not retire":                      1,
	"the node has left":                             31,
	"the node has started again":                    17,
	"the node has the shard":                        1,
	"the node is behind":                            1,
	"the settings have changed meanwhile":           4,
	"the shard has changed meanwhile":               1,
	"the shards of the node have changed meanwhile": 3,
	"too few others hold a shard of the node":       79,
	"too few others hold the shard":                 9,
}

const simSteps = 1500

var (
	simSearch = flag.Uint64("moves-search", 0, "look for failures of every mutation in so many seeds, and print the first of each")
	simRuns   = flag.Uint64("moves-runs", 1000, "schedules of moves that are run")
	simSeed   = flag.Uint64("moves-seed", 0, "show the schedule of a seed")
	simRule   = flag.Int("moves-rule", 0, "without this rule")
	simWaive  = flag.String("moves-waive", "", "without this condition")
)

// simulateMoves runs one schedule.
func simulateMoves(seed uint64, r rule) error {
	w := newWorld(seed, r)
	w.run(simSteps)
	return w.err
}

// What a step may be. Each run draws how often it is which: so some have much of one.
const (
	reading = iota
	keeping
	troubling
	calling
	asking
	saving
	learns
	reporting
	deciding
	beating
	purging
	givingUp
	paces
)

// usual is how often a step is what, in the mean.
var usual = [paces]int{reading: 34, keeping: 14, troubling: 3, calling: 7, asking: 10, saving: 7, learns: 8, reporting: 4, deciding: 5, beating: 3, purging: 2, givingUp: 2}

// choose returns what the next step is.
func (w *world) choose() int {
	sum := 0
	for i, p := range w.pace {
		sum += p * usual[i]
	}
	k := w.random.IntN(sum)
	for i, p := range w.pace {
		if k -= p * usual[i]; k < 0 {
			return i
		}
	}
	return reading
}

// run lets nodes, clients and trouble do their work, and mends everything.
func (w *world) run(steps int) {
	for w.step = 1; w.step <= steps && w.err == nil; w.step++ {
		n := w.nodes[1+w.random.IntN(len(w.nodes)-1)]
		if n.paused >= w.step {
			continue
		}
		w.act(n, w.choose())
		w.laws()
		if w.step%64 == 0 {
			w.tidy()
		}
	}
	if w.err == nil {
		w.mend()
	}
}

// act has a node do something.
func (w *world) act(n *node, what int) {
	switch {
	case what == keeping:
		if len(w.out) > 0 {
			w.deliver(w.random.IntN(len(w.out)))
		}
	case !n.up:
		if w.odds(8) {
			w.start(n)
		} else if what == troubling && !n.gone && w.losable(n) {
			w.lose(n)
		}
	case what == reading:
		w.read(n)
	case what == troubling:
		w.trouble(n)
	case !n.serving:
		w.begin(n)
	case what == calling:
		w.call(n, w.odds(2), w.odds(3))
	case what == asking:
		for range 4 {
			if len(w.asked) > 0 {
				w.advance(w.asked[w.random.IntN(len(w.asked))])
			}
		}
	case what == saving:
		w.snapshot(n)
		w.snapshot(n)
	case what == learns:
		w.learn(n)
	case what == reporting:
		w.report(n)
	case what == deciding:
		w.decide(n)
	case what == beating:
		w.beat(n)
	case what == purging:
		w.propose(n)
	case what == givingUp:
		w.giveUp(n, 1+w.random.IntN(len(w.nodes)-1))
	}
}

// read has a node apply some messages.
func (w *world) read(n *node) {
	for range 1 + w.random.IntN(6) {
		lane := w.random.IntN(len(w.lanes))
		if n.up && (lane == 0 || n.number != w.slow || w.odds(6)) {
			w.apply(n, lane)
		}
	}
}

// tidy forgets questions that have ended, and some messages of processes that have.
func (w *world) tidy() {
	open := w.asked[:0]
	for _, q := range w.asked {
		if q.phase != ended {
			open = append(open, q)
		}
	}
	w.asked = open
	kept := w.out[:0]
	for _, o := range w.out {
		if n := w.nodes[o.m.from%len(w.nodes)]; o.m.from == 0 || n.life == o.m.life && n.up || !w.odds(3) {
			kept = append(kept, o)
		}
	}
	w.out = kept
}

// trouble is what happens to nodes, and what operators do.
func (w *world) trouble(n *node) {
	switch k := w.random.IntN(30); {
	case k < 12:
		w.cut(n)
	case k < 16:
		n.paused = w.step + w.random.IntN(200)
	case k < 18:
		w.target++
	case k < 20:
		w.cut(n) // several at once
		w.cut(w.nodes[1+w.random.IntN(len(w.nodes)-1)])
	case k < 22:
		if len(w.nodes) <= simMembers && len(w.nodes) == 1+len(w.state.Roster().Members) {
			w.nonces++
			w.keep(0, message{body: &store.Join{Nonce: w.nonces, Level: store.LevelShards}})
			w.add()
		}
	case k < 24:
		if w.losable(n) {
			w.cut(n)
			w.lose(n)
		}
	case !n.serving:
	case k < 26:
		w.remove(n, 1+w.random.IntN(len(w.nodes)-1), w.odds(2))
	default:
		w.change(n)
	}
}

// lose takes the folder of a machine, or what it has of contents.
func (w *world) lose(n *node) {
	w.note("n%d has lost its folder", n.number)
	if n.disk = nil; w.odds(2) {
		n.gone = true
		return
	}
	n.damaged = w.nonces
}

// change has an operator change a setting.
func (w *world) change(n *node) {
	t := w.view(n).Shards
	number := uint64(1 + w.random.IntN(len(w.nodes)-1))
	switch w.random.IntN(4) {
	case 0:
		w.record(n, &store.ShardCopies{Copies: uint64(2 + w.random.IntN(2)), Settings: t.Settings})
	case 1:
		w.record(n, &store.Weight{Node: number, Weight: uint8(w.random.IntN(40)), Settings: t.Settings})
	default:
		w.record(n, &store.ShardPause{Paused: w.odds(3), Settings: t.Settings})
	}
}

// TestSimulatedMoves asks that no schedule breaks a law.
func TestSimulatedMoves(t *testing.T) {
	if *simSeed > 0 {
		if *simWaive != "" {
			defer roster.Waive(*simWaive)()
		}
		w := newWorld(*simSeed, rule(*simRule))
		w.traced = true
		w.run(simSteps)
		for _, line := range w.trace {
			fmt.Println(line)
		}
		t.Fatal(w.err)
	}
	for seed := uint64(1); seed <= *simRuns; seed++ {
		if err := simulateMoves(seed, noRule); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestSimulatedMovesWithout leaves out one condition of Apply or one rule of nodes at a time, and asks
// that the simulation finds it. The seeds are those that find it at once; if the simulation has
// changed, one of the next may.
func TestSimulatedMovesWithout(t *testing.T) {
	tries := uint64(200)
	if *simSearch > 0 {
		tries = *simSearch
	}
	find := func(t *testing.T, seed uint64, r rule) {
		if *simSearch > 0 {
			seed = 1
		}
		for i := range tries {
			if err := simulateMoves(seed+i, r); err != nil {
				t.Logf("seed %d: %v", seed+i, err)
				return
			}
		}
		t.Errorf("not found in %d schedules from seed %d on", tries, seed)
	}
	for r := noRule + 1; r < rules; r++ {
		t.Run(broken[r].name, func(t *testing.T) { find(t, broken[r].seed, r) })
	}
	for _, words := range roster.Conditions() {
		t.Run("unless "+words, func(t *testing.T) {
			defer roster.Waive(words)()
			find(t, waived[words], noRule)
		})
	}
}
