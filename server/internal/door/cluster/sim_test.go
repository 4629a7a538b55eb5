package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// The simulation runs several nodes over a log that loses acknowledgements, keeps
// messages twice, delivers them again, is slow and loses its quorum, while nodes are
// killed and come back and clients change whatever there is. Then it asks that all
// nodes have the same state, byte for byte, and that it is the one that clients were
// told of. Time is simulated: what takes minutes takes none.
//
// A failure names its seed: BLOOMERY_SEED=n go test -run TestSimulation runs it again.

// sim is one run.
type sim struct {
	seed  uint64
	log   *memlog.Log
	hooks hooks
	lanes int

	mu     sync.Mutex // guards what follows, and random
	random *rand.Rand
	nodes  []*simNode
	model  model
	errs   []error
}

// simNode is a machine: its process comes and goes, its number and its folder stay.
type simNode struct {
	number uint32
	state  *store.State
	log    *memlog.Node
	door   *Door // nil while it is dead
}

const (
	simNames   = 6 // of each kind that clients make and remove
	simKept    = 3 // of each kind that is never removed
	simClients = 2 // of each node
)

func (s *sim) intn(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// errorf notes a failure.
func (s *sim) errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.errs) < 10 {
		s.errs = append(s.errs, fmt.Errorf(format, args...))
	}
}

// simulate runs one schedule and returns what is wrong with its end.
func simulate(t *testing.T, seed uint64, h hooks) error {
	t.Helper()
	var err error
	synctest.Test(t, func(*testing.T) { err = newSim(seed, h).run() })
	return err
}

func newSim(seed uint64, h hooks) *sim {
	random := rand.New(rand.NewPCG(seed, 7))
	f := memlog.Faults{
		Lost: 0.2 * random.Float64(), Unacked: 0.3 * random.Float64(), Twice: 0.3 * random.Float64(), Again: 0.2 * random.Float64(),
		Delay: time.Duration(1+random.IntN(100)) * time.Millisecond, Answer: time.Duration(random.IntN(3000)) * time.Millisecond,
	}
	s := &sim{seed: seed, hooks: h, random: random, log: memlog.New(seed, f), lanes: 1 + random.IntN(4)}
	s.hooks.between = func() {
		if s.intn(4) == 0 {
			for range 20 {
				runtime.Gosched()
			}
		}
	}
	s.model.init()
	for range 3 + random.IntN(3) {
		s.nodes = append(s.nodes, &simNode{})
	}
	return s
}

// run starts all nodes, lets clients and faults do their work, mends everything and
// compares.
func (s *sim) run() error {
	var starts sync.WaitGroup
	for i := range s.nodes {
		starts.Go(func() { s.start(i) })
	}
	starts.Wait()
	if len(s.errs) == 0 {
		var work sync.WaitGroup
		for i := range s.nodes {
			for range simClients {
				work.Go(func() { s.client(i, 30+s.intn(30)) })
			}
		}
		work.Go(func() { s.trouble(3 + s.intn(6)) })
		work.Wait()
		s.quiet()
		s.compare()
	}
	for i := range s.nodes {
		s.kill(i)
	}
	return errors.Join(s.errs...)
}

// start starts the process of a node. What was acknowledged before is there when it
// serves (I5).
func (s *sim) start(i int) {
	s.mu.Lock()
	n := s.nodes[i]
	before := s.model.answered()
	s.mu.Unlock()
	state, log := store.New(), s.log.Node(ErrFull)
	d, err := Open(Config{
		State: state, Log: log, Number: n.number, Lanes: s.lanes, Name: fmt.Sprint("n", i), hooks: s.hooks,
		Joined: func(_ uint64, number uint32) error {
			n.number = number
			return nil
		},
	})
	if err != nil {
		s.errorf("node %d: %v", i, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := d.Start(ctx, nil); err != nil {
		s.errorf("node %d: %v", i, err)
		log.Kill()
		log.Wait()
		return
	}
	for _, err := range before.missing(state) {
		s.errorf("node %d serves, and %v", i, err)
	}
	s.mu.Lock()
	n.state, n.log, n.door = state, log, d
	s.mu.Unlock()
}

// kill ends the process of a node, at any point of what it does.
func (s *sim) kill(i int) {
	s.mu.Lock()
	n := s.nodes[i]
	d := n.door
	n.door = nil
	s.mu.Unlock()
	if d == nil {
		return
	}
	n.log.Kill()
	_ = d.Close()
	n.log.Wait()
	n.state.Discard()
}

// door returns the door and the state of a node, nil while it is dead.
func (s *sim) door(i int) (*Door, *store.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[i].door, s.nodes[i].state
}

// trouble kills nodes and takes the quorum away.
func (s *sim) trouble(times int) {
	for range times {
		time.Sleep(time.Duration(s.intn(5000)) * time.Millisecond)
		switch s.intn(4) {
		case 0:
			s.log.SetDown(true)
			time.Sleep(time.Duration(s.intn(30)) * time.Second)
			s.log.SetDown(false)
		default:
			i := s.intn(len(s.nodes))
			s.kill(i)
			time.Sleep(time.Duration(s.intn(2000)) * time.Millisecond)
			s.start(i)
		}
	}
}

// quiet waits until every node has everything.
func (s *sim) quiet() {
	s.log.SetFaults(memlog.Faults{})
	for range 600 {
		time.Sleep(time.Second)
		still := true
		for i := range s.nodes {
			d, _ := s.door(i)
			if d == nil {
				return // it could not start: that is an error already
			}
			for _, l := range d.all() {
				l.send.Lock()
				still = still && len(l.flight) == 0
				l.send.Unlock()
				still = still && l.seq.Load() == s.log.Messages(l.number)
			}
		}
		if still {
			return
		}
	}
	s.errorf("nodes do not come to rest")
}

// compare asks that all nodes are equal (I1), and as clients were told (I2, I3).
func (s *sim) compare() {
	var first []byte
	for i := range s.nodes {
		d, state := s.door(i)
		if d == nil {
			return
		}
		if err := d.Serving(); err != nil {
			s.errorf("node %d: %v", i, err)
		}
		got := everything(d, state)
		if first == nil {
			first = got
		} else if !bytes.Equal(got, first) {
			s.errorf("node %d differs from node 0", i)
		}
		for _, err := range s.model.check(state) {
			s.errorf("node %d: %v", i, err)
		}
	}
	for _, err := range s.model.written() {
		s.errorf("%v", err)
	}
}

// everything returns all that is to be equal on nodes that have the same messages.
func everything(d *Door, state *store.State) []byte {
	var b []byte
	for _, l := range d.all() {
		l.still(func(seq uint64) {
			b = fmt.Appendf(b, "%d %d ", l.number, seq)
			b = l.appendSenders(b)
		})
	}
	state.Names.Lock()
	defer state.Names.Unlock()
	return state.AppendSnapshot(b)
}

// seeds returns the seeds to run: those of a test, or the one that was asked for.
func seeds(t *testing.T, n int) []uint64 {
	t.Helper()
	if v := os.Getenv("BLOOMERY_SEED"); v != "" {
		seed, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{seed}
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = uint64(i + 1)
	}
	return list
}

func TestSimulation(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 15
	}
	for _, seed := range seeds(t, n) {
		if err := simulate(t, seed, hooks{}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestSimulationFindsMutations breaks what the design rests on, one thing at a time,
// and asks that the simulation finds each: else it would prove nothing.
func TestSimulationFindsMutations(t *testing.T) {
	for name, h := range map[string]hooks{
		"repeats are not recognised":       {noTable: true},
		"data does not wait for the names": {noWait: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); ; seed++ {
				if err := simulate(t, seed, h); err != nil {
					t.Logf("found with seed %d: %v", seed, err)
					return
				}
				if seed == 200 {
					t.Fatal("200 runs have not found it")
				}
			}
		})
	}
}
