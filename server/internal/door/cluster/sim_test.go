package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/balance"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/status"
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
	peers *memlog.Peers
	lanes int
	// broken is what the design rests on and this run does without.
	broken mutation
	// flush has clients remove everything now and then: then nothing can be counted.
	flush bool
	// spread has nodes hold different contents: see sim_moves_test.go.
	spread  bool
	joiners int               // of the last nodes, those that join later
	lent    map[string][]byte // the last answers about parts that were lent, for mutations; guarded by mu

	mu     sync.Mutex // guards what follows, and random
	random *rand.Rand
	nodes  []*simNode
	model  model
	errs   []error
}

// simNode is a machine: its process comes and goes, its folder stays.
type simNode struct {
	disk *powercut.Disk

	// The process, if there is one.
	state *store.State
	log   *memlog.Node
	files *mortal
	door  *Door // nil while it is dead
	meet  meeting
	saves *sync.WaitGroup // snapshots that are being taken
}

// mutation is what a run does without.
type mutation struct {
	noTable    bool // repeats are not recognised
	noWait     bool // a message does not wait for what it names
	outside    bool // parts are frozen between two records of a message
	purgeAbove bool // the log is purged above what snapshots have

	// Of moves.
	holdsEarly   bool // a shard is held before a snapshot has it
	byLiveness   bool // the log is kept for nodes that are heard of, and no others
	plainSession bool // a node that had to fetch does not say so
	noSenders    bool // a part is learned without the table of senders
	late         bool // nothing is broken, but most messages are kept twice, some time apart
	withoutLog   bool // and without what was written meanwhile
}

// mortal is a folder as one process sees it: nothing is written after its death.
type mortal struct {
	*powercut.Disk
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) Create(name string) (folder.File, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Disk.Create(name)
}

func (m *mortal) Rename(from, to string) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Disk.Rename(from, to)
}

func (m *mortal) Remove(name string) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Disk.Remove(name)
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
func simulate(t *testing.T, seed uint64, m mutation) error {
	t.Helper()
	var err error
	synctest.Test(t, func(*testing.T) { err = newSim(seed, m).run() })
	return err
}

func newSim(seed uint64, m mutation) *sim {
	random := rand.New(rand.NewPCG(seed, 7))
	f := memlog.Faults{
		Lost: 0.2 * random.Float64(), Unacked: 0.3 * random.Float64(), Twice: 0.3 * random.Float64(), Again: 0.2 * random.Float64(),
		Delay: time.Duration(1+random.IntN(100)) * time.Millisecond, Answer: time.Duration(random.IntN(3000)) * time.Millisecond,
	}
	s := &sim{
		seed: seed, broken: m, random: random, log: memlog.New(seed, f), peers: &memlog.Peers{},
		lanes: 1 + random.IntN(4), flush: random.IntN(4) == 0,
	}
	s.model.init()
	for range 3 + random.IntN(3) {
		s.nodes = append(s.nodes, &simNode{disk: powercut.New(random.Uint64())})
	}
	return s
}

// run starts all nodes, lets clients and faults do their work, mends everything and
// compares.
func (s *sim) run() error {
	var starts sync.WaitGroup
	for i := range len(s.nodes) - s.joiners {
		starts.Go(func() { s.start(i) })
	}
	starts.Wait()
	if len(s.errs) == 0 {
		var work sync.WaitGroup
		for i := range s.nodes {
			for range simClients {
				work.Go(func() { s.client(i, 30+s.intn(30)) })
			}
			work.Go(func() { s.saver(i, 1+s.intn(4)) })
		}
		work.Go(func() { s.trouble(3 + s.intn(6)) })
		if s.spread {
			s.spreadOut()
			stop := make(chan struct{})
			defer close(stop)
			s.breakMoves(stop)
			work.Go(func() { s.operator(30) })
		}
		work.Wait()
		for i := range s.nodes {
			if d, _ := s.door(i); d == nil {
				s.start(i)
			}
		}
		s.quiet()
		s.compare()
		s.restartAll()
		s.quiet()
		s.compare()
	}
	for i := range s.nodes {
		s.kill(i)
	}
	return errors.Join(s.errs...)
}

// start starts the process of a node, as whoever looks after it does: one that was away
// for so long that the log was purged while it started is started again.
func (s *sim) start(i int) {
	for attempt := 0; ; attempt++ {
		err := s.tryStart(i)
		if err == nil {
			return
		}
		if attempt == 3 || !errors.Is(err, ErrPurged) && !errors.Is(err, ErrGivenUp) {
			s.errorf("node %d: %v", i, err)
			return
		}
	}
}

// tryStart starts the process of a node. What was acknowledged before is there when it
// serves (I5).
func (s *sim) tryStart(i int) error {
	s.mu.Lock()
	n := s.nodes[i]
	before := s.model.answered()
	s.mu.Unlock()
	state, log, files := store.New(), s.log.Node(ErrFull), &mortal{Disk: n.disk}
	own := &simLog{Node: log, s: s}
	d, err := Open(Config{
		State: state, Log: own, Peers: simPeers{s.peers, s}, Files: files, SnapshotAfter: -1, Lanes: s.lanes, Name: fmt.Sprint("n", i),
		MoveRate: 2 << 10, // so that much is written while a part is learned
	})
	if err != nil {
		return err
	}
	if s.spread {
		d.level = store.LevelShards
	}
	meet := meeting{s: s, freezers: make(chan chan struct{}, 1)}
	own.d, d.source = d, meddling{source: source{d}, freezing: meet.freezing, outside: s.broken.outside}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := d.Start(ctx, nil); err != nil {
		log.Kill()
		log.Wait()
		return err
	}
	if !s.flush {
		for _, err := range before.missing(state) {
			s.errorf("node %d serves, and %v", i, err)
		}
	}
	s.mu.Lock()
	n.state, n.log, n.files, n.door, n.meet, n.saves = state, log, files, d, meet, &sync.WaitGroup{}
	s.mu.Unlock()
	return nil
}

// meeting has parts be frozen while messages are applied, if anything lets them.
type meeting struct {
	s        *sim
	freezers chan chan struct{}
}

// freezing waits some time for a message that is being applied.
func (m meeting) freezing() {
	now := make(chan struct{})
	select {
	case m.freezers <- now:
	default:
		return
	}
	select {
	case <-now:
	case <-time.After(time.Duration(m.s.intn(300)) * time.Millisecond):
		select {
		case <-m.freezers: // nobody has come
		case <-now:
		}
	}
}

// between lets others in behind a record of a message: who freezes a part, or sees what
// the record has done.
func (m meeting) between() {
	yields := 0
	select {
	case now := <-m.freezers:
		close(now)
		yields = 100
	default:
		if m.s.intn(4) == 0 {
			yields = 20
		}
	}
	for range yields {
		runtime.Gosched()
	}
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
	n.files.dead.Store(true)
	n.log.Kill()
	_ = d.Close()
	n.log.Wait()
	n.saves.Wait()
	n.state.Discard()
}

// door returns the door and the state of a node, nil while it is dead.
func (s *sim) door(i int) (*Door, *store.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[i].door, s.nodes[i].state
}

// between is what the records of a node's clients call when they are applied there.
func (s *sim) between(i int) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[i].meet.between
}

// trouble kills nodes, has them take snapshots, and takes the quorum away.
func (s *sim) trouble(times int) {
	for range times {
		time.Sleep(time.Duration(s.intn(3000)) * time.Millisecond * s.slower())
		i := s.intn(len(s.nodes))
		if s.spread && s.moveTrouble(i) {
			continue
		}
		switch s.intn(12) {
		case 0:
			s.log.SetDown(true)
			time.Sleep(time.Duration(s.intn(30)) * time.Second)
			s.log.SetDown(false)
		case 1, 2, 3, 4, 7, 8, 9:
			if s.intn(2) == 0 {
				s.save(i) // from which it starts
			}
			s.kill(i)
			if s.intn(2) == 0 {
				s.setDisk(i, (*powercut.Disk).Restart)
			}
			time.Sleep(time.Duration(s.intn(2000)) * time.Millisecond)
			s.start(i)
		case 5: // for so long that the log is purged
			s.kill(i)
			time.Sleep(awayFor)
			s.saveAll()
			s.start(i)
		case 6: // with an empty disk
			d, _ := s.door(i)
			if d == nil || !s.losable(d) {
				continue
			}
			old := d.number.Load()
			s.kill(i)
			time.Sleep(liveFor + time.Second) // what it has kept counts no more
			s.setDisk(i, func(*powercut.Disk) *powercut.Disk { return powercut.New(s.random.Uint64()) })
			s.start(i)
			s.remove(old)
		case 10:
			s.restartAll()
		default:
			s.save(i)
		}
	}
}

// copy makes a copy at a node: what was acknowledged before is in it, and each change
// at most once.
func (s *sim) copy(i int, d *Door) {
	before := s.model.answered()
	files, err := readCopy(d, false)
	if err != nil {
		if !d.over.Load() && !errors.Is(err, door.ErrRefused) && !errors.Is(err, door.ErrUnknown) && !errors.Is(err, errHolds) {
			s.errorf("node %d: %v", i, err)
		}
		return
	}
	state, err := loadCopy(files)
	if err != nil {
		s.errorf("copy of node %d: %v", i, err)
		return
	}
	defer state.Discard()
	if !s.flush {
		for _, err := range before.missing(state) {
			s.errorf("copy of node %d: %v", i, err)
		}
	}
}

// save takes a snapshot of a node.
func (s *sim) save(i int) {
	s.mu.Lock()
	n := s.nodes[i]
	d, saves := n.door, n.saves
	if d != nil {
		saves.Add(1)
	}
	s.mu.Unlock()
	if d == nil {
		return
	}
	defer saves.Done()
	if s.intn(2) == 0 && !s.spread { // copies are refused where contents are spread
		s.copy(i, d)
		return
	}
	if err := d.Snapshot(); err != nil && !errors.Is(err, status.ErrSaving) && !d.over.Load() {
		s.errorf("node %d: %v", i, err)
	}
}

// saver takes snapshots of a node while clients write.
func (s *sim) saver(i, times int) {
	for range times {
		time.Sleep(time.Duration(s.intn(6000)) * time.Millisecond)
		s.save(i)
	}
}

func (s *sim) saveAll() {
	for i := range s.nodes {
		s.save(i)
	}
	time.Sleep(3 * keepEvery) // to purge
}

// remove removes a number that nobody has any more.
func (s *sim) remove(number uint32) {
	for i := range s.nodes {
		d, _ := s.door(i)
		if d == nil {
			continue
		}
		op := &door.Op{Record: store.Record{Body: &store.Leave{Node: uint64(number), Forced: s.spread}}}
		ops := []*door.Op{op}
		if d.Do(ops); op.Err == nil {
			d.Wait(ops)
		}
		if op.Err == nil {
			return
		}
	}
}

// quiet waits until every node has everything, and nothing is on its way: a message may
// be kept a second time long after it was answered.
func (s *sim) quiet() {
	s.log.SetFaults(memlog.Faults{})
	for still, tries := 0, 0; still < 3; tries++ {
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if still++; !s.still() {
			still = 0
		}
		if tries == 200 {
			s.errorf("nodes do not come to rest")
			return
		}
	}
}

// still reports whether every node has all messages.
func (s *sim) still() bool {
	for i := range s.nodes {
		d, _ := s.door(i)
		if d == nil {
			continue // it could not start: that is an error already
		}
		for _, l := range d.all() {
			l.send.Lock()
			n := len(l.flight) + len(l.waiting)
			l.send.Unlock()
			if n > 0 || l.seq.Load() != s.log.Messages(l.number) {
				return false
			}
		}
		if r := d.state.Roster(); s.spread && !balance.Reached(r, balance.Target(r)) {
			return false
		}
	}
	return true
}

// compare asks that all nodes are equal (I1), and as clients were told (I2, I3).
func (s *sim) compare() {
	if s.spread {
		s.compareShards()
		return
	}
	var first []string
	for i := range s.nodes {
		d, state := s.door(i)
		if d == nil {
			return
		}
		if err := d.Serving(); err != nil {
			s.errorf("node %d: %v", i, err)
		}
		got := pieces(d)
		if first == nil {
			first = got
		}
		for j := range max(len(got), len(first)) {
			if j >= len(got) || j >= len(first) || got[j] != first[j] {
				s.errorf("node %d differs from node 0: %.300q and %.300q", i, got[min(j, len(got)-1)], first[min(j, len(first)-1)])
				break
			}
		}
		if !s.flush {
			for _, err := range s.model.check(state) {
				s.errorf("node %d: %v", i, err)
			}
		}
	}
	for _, err := range s.model.written() {
		s.errorf("%v", err)
	}
}

// pieces returns all that is to be equal on nodes that have the same messages: lanes,
// entries with those that have no name, and at last the whole.
func pieces(d *Door) (list []string) {
	for _, l := range d.all() {
		l.still(func(seq uint64) {
			list = append(list, fmt.Sprintf("lane %s at %d: %x", l.name(), seq, l.senders.Append(nil)))
		})
	}
	names := d.state.Names
	names.Lock()
	for _, e := range names.All() {
		text := fmt.Sprintf("id %d %q kind %d deadline %d: %q", e.ID, e.Name(), e.Kind, e.When(), store.Text(e))
		for _, p := range contents.Parts(e) {
			p.RLock()
			text += fmt.Sprintf(" version %d %x", p.Changes(), p.Contents().AppendHeader(nil))
			_, chunk := p.Contents().ScanDump(1)
			text += fmt.Sprintf(" %08x", crc32.ChecksumIEEE(chunk))
			p.RUnlock()
		}
		list = append(list, text)
	}
	names.Unlock()
	return append(list, string(all(d)))
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

// fewSimulations find every mutation of TestSimulationFindsMutations several times over.
const fewSimulations = 12

// simulations is larger in make soak.
var simulations = flag.Int("simulations", fewSimulations, "how many seeds TestSimulation runs")

func TestSimulation(t *testing.T) {
	n := *simulations
	switch {
	case underRace:
		n = 4
	case testing.Short():
		n = 8
	}
	for _, seed := range seeds(t, n) {
		if err := simulate(t, seed, mutation{}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestSimulationFindsMutations breaks what the design rests on, one thing at a time,
// and asks that the simulation finds each: else it would prove nothing.
func TestSimulationFindsMutations(t *testing.T) {
	if underRace {
		t.Skip("mutations are found without the race detector")
	}
	for name, m := range map[string]mutation{
		"repeats are not recognised":                               {noTable: true},
		"data does not wait for the names":                         {noWait: true},
		"parts are frozen while a message is applied":              {outside: true},
		"the log is purged above what the snapshots of nodes have": {purgeAbove: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); ; seed++ {
				if err := simulate(t, seed, m); err != nil {
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
