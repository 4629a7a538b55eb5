package local_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/store"
)

var cuts = flag.Int("cuts", 1500, "power cuts of TestPowerCuts")

// world is a door over a disk that loses power, and what is known of its
// history: a number for every state it went through.
type world struct {
	rng   *rand.Rand
	mode  local.Fsync
	skip  string // the syncs that are left out
	disk  *powercut.Disk
	state *store.State
	door  *local.Door
	now   time.Time
	seed  maphash.Seed

	past   []moment // past[0] is the empty state
	kept   int      // states up to this one must not be lost
	acked  int      // the last one that was answered
	group  bool
	inHook bool
	full   bool // the disk
	cuts   int
	folds  int
}

// moment is a state in the history.
type moment struct {
	hash   uint64
	at     time.Time
	inside bool // of a group: no recovery may end here
}

func newWorld(seed uint64, mode local.Fsync, skip string) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, uint64(mode))), mode: mode, skip: skip, disk: powercut.New(seed),
		now: time.UnixMilli(1_700_000_000_000), seed: maphash.MakeSeed(),
	}
	w.past = []moment{{hash: w.hash(store.New()), at: w.now}}
	return w
}

func (w *world) hash(s *store.State) uint64 {
	s.Names.Lock()
	defer s.Names.Unlock()
	return maphash.Bytes(w.seed, s.AppendSnapshot(nil))
}

// open starts the door, again and again if the power goes meanwhile, and checks
// what has come back.
func (w *world) open() error {
	for {
		w.state = store.New()
		d, err := local.Open(local.Config{
			State: w.state, Files: leaving{w.disk, w.skip}, Fsync: w.mode, SnapshotAfter: -1, Manual: true, LogFile: 600, Small: 200,
			Clock: func() time.Time { return w.now }, Tick: func() time.Duration { return w.now.Sub(time.UnixMilli(0)) },
		})
		if err == nil {
			w.door = d
			break
		}
		if !w.disk.Dead() {
			return fmt.Errorf("refuses to start: %w", err)
		}
		w.cut()
	}
	got := w.hash(w.state)
	from := w.kept
	if w.mode == local.EverySecond {
		from = max(from, w.secondAgo())
	}
	for i := len(w.past) - 1; i >= from; i-- {
		if w.past[i].hash == got && !w.past[i].inside {
			w.past, w.kept, w.acked = w.past[:i+1], i, i
			return nil
		}
	}
	for i, m := range w.past {
		if m.hash == got {
			return fmt.Errorf("lost writes: state %d of %d came back, kept must be %d (inside a group: %v)", i, len(w.past)-1, from, m.inside)
		}
	}
	return fmt.Errorf("a state came back that never was (%d states, %d kept)", len(w.past), from)
}

// secondAgo returns the last state that was answered more than a second before
// the last answer.
func (w *world) secondAgo() int {
	i := w.acked
	for i > 0 && w.past[w.acked].at.Sub(w.past[i].at) <= time.Second {
		i--
	}
	return i
}

// cut restarts the disk, which may lose power again soon.
func (w *world) cut() {
	w.cuts++
	w.full = false
	w.disk = w.disk.Restart()
	w.disk.Fail = w.meanwhile
	w.disk.CutAfter(w.rng.IntN(4) * w.rng.IntN(60))
}

// meanwhile writes while a snapshot is being written.
func (w *world) meanwhile(op, name string) error {
	if w.full && op == "write" {
		return powercut.ErrShort
	}
	if op != "write" || len(name) < 4 || name[len(name)-4:] == ".log" || w.inHook || w.door == nil {
		return nil
	}
	w.inHook = true
	for range w.rng.IntN(3) {
		w.write()
	}
	w.inHook = false
	return nil
}

func (w *world) do(r store.Record) *store.Result {
	op := &door.Op{Record: r}
	w.door.Ready(false)
	w.door.Do([]*door.Op{op})
	if op.Result.Changed {
		if r.Op() == store.OpFilterFold {
			w.folds++
		}
		w.past = append(w.past, moment{w.hash(w.state), w.now, w.group})
	}
	return &op.Result
}

// write changes something, at random, unless writes are refused.
func (w *world) write() {
	if w.door.Refuses() != nil && !w.group {
		return
	}
	rng := w.rng
	name := func() []byte { return []byte{byte('a' + rng.IntN(6))} }
	at := w.now.UnixMilli()
	switch rng.IntN(36) {
	case 20:
		w.do(w.newSketch(name(), at))
	case 24, 25:
		w.do(w.newFilter(name(), at))
	case 26:
		w.load(name(), at)
	case 28, 29, 30, 31, 32, 33, 34, 35:
		w.rebuild(name(), at)
	case 21:
		w.do(store.Record{At: at, Body: &store.CountMinMerge{Name: name(), Sources: [][]byte{name(), name()}, Weights: []int64{1, int64(rng.IntN(3))}}})
	case 22:
		w.do(store.Record{At: at, Body: &store.TDigestMerge{Name: name(), Sources: [][]byte{name()}, Compression: int64(rng.IntN(3)), Override: rng.IntN(2) == 1}})
	case 0:
		w.do(store.Record{At: at, Body: &store.MakeBloom{Name: name(), Params: redisbloom.BloomParams{ErrorRate: 0.1, Capacity: 1 + rng.Uint64N(600), Expansion: 2}}})
	case 1:
		w.do(store.Record{At: at, Body: &store.MakeCuckoo{Name: name(), Params: redisbloom.CuckooParams{Capacity: 4 + rng.Uint64N(40), BucketSize: 2, MaxIterations: 5, Expansion: 1}}})
	case 2:
		w.do(store.Record{At: at, Body: &store.Set{String: store.String{Name: name(), Value: fmt.Append(nil, rng.IntN(1000))}}})
	case 3:
		w.do(store.Record{At: at, Body: &store.Remove{Names: [][]byte{name(), name()}}})
	case 4:
		w.do(store.Record{At: at, Body: &store.Rename{From: name(), To: name()}})
	case 5:
		w.do(store.Record{At: at, Body: &store.Expire{Name: name(), Deadline: at + int64(rng.IntN(5000))}})
	case 6:
		if rng.IntN(8) == 0 {
			w.do(store.Record{At: at, Body: &store.Flush{}})
		}
	default:
		e := w.state.Names.Lookup(name(), 0)
		if e == nil || contents.PartOf(e) == nil {
			return
		}
		if r, ok := w.sketched(e.ID, contents.PartOf(e)); ok {
			w.do(r)
			return
		}
		if contents.PartOf(e).Filter() != nil {
			w.do(w.filtered(e))
			return
		}
		var body store.Body = &store.BloomAdd{}
		if contents.PartOf(e).Cuckoo() != nil {
			body = []store.Body{&store.CuckooInsert{}, &store.CuckooInsert{New: true}, &store.CuckooDelete{}, &store.CuckooCompact{}}[rng.IntN(4)]
		}
		var digests []redisbloom.Digest
		var hashes []uint64
		for range 1 + rng.IntN(8) {
			v := rng.Uint64N(200) * 0x9e3779b97f4a7c15
			digests = append(digests, redisbloom.Digest{A: v, B: v >> 7})
			hashes = append(hashes, v)
		}
		if items, ok := body.(store.Items); ok {
			items.Hold(digests, hashes)
			items.Give(store.Unlimited)
		}
		w.do(store.Record{ID: e.ID, Body: body})
	}
}

// kinds are the kinds of filters that power is cut on: each way of changing once.
var kinds = []string{"bloom", "scalable", "cuckoo", "growing", "window", "quorum"}

// outline returns the outline of an empty filter.
func (w *world) outline() []byte {
	name := kinds[w.rng.IntN(len(kinds))]
	if name == "bloom" { // as the server makes it
		f, err := bloom.Config{Capacity: 1 + w.rng.IntN(300), ErrorRate: 0.1, Foldable: true}.New()
		if err != nil {
			panic(err)
		}
		outline, err := codec.AppendOutline(nil, f)
		if err != nil {
			panic(err)
		}
		return outline
	}
	for _, k := range codec.Kinds() {
		if k.Name != name {
			continue
		}
		f, err := k.New(1+w.rng.IntN(300), 0.1, hashing.Hasher{})
		if err != nil {
			panic(err)
		}
		outline, err := codec.AppendOutline(nil, f)
		if err != nil {
			panic(err)
		}
		return outline
	}
	panic("no kind " + name)
}

// newFilter makes a filter of one to four parts.
func (w *world) newFilter(name []byte, at int64) store.Record {
	plan := contents.Plan{Parts: uint8(w.rng.IntN(3)), Generation: 1000}
	return store.Record{At: at, Body: &store.Make{As: store.OpFilter, Name: name, Header: contents.AppendCreation(nil, &plan, w.outline())}}
}

// filtered returns a record of a part of a filter.
func (w *world) filtered(e *catalog.Entry) store.Record {
	r := store.Record{ID: e.ID, Index: uint32(w.rng.IntN(contents.PartCount(e)))}
	remove := false
	features := contents.PartOf(e).Row().Features
	switch k := w.rng.IntN(8); {
	case k == 0 && contents.PartOf(e).Row().Name == "bloom" && w.rng.IntN(2) == 0:
		r.Body = &store.FilterGrow{Rate: 0.3, Equal: true}
		return r
	case k == 0 && !features.Static:
		// An empty one of any kind: parts of one filter are alike, but each takes
		// any record of its kind.
		r.Body = &store.FilterClear{Outline: w.blank(e)}
		return r
	case k < 3 && contents.PartOf(e).Row().Name == "bloom":
		r.Body = &store.FilterFold{} // what was folded three times stays as it is
		return r
	case k < 3 && features.Delete:
		remove = true
	case k < 4 && features.Expire:
		r.Body = &store.FilterAdvance{Generation: uint64(w.now.UnixMilli() / 1000)}
		return r
	}
	var hashes []uint64
	for range 1 + w.rng.IntN(20) {
		hashes = append(hashes, w.rng.Uint64N(400)*0x9e3779b97f4a7c15)
	}
	if remove {
		r.Body = &store.FilterDelete{Hashes: hashes}
		return r
	}
	o := &store.FilterAdd{Room: store.Unlimited, Hashes: hashes}
	if sh := w.state.ShadowOf(e.ID); sh != nil { // one record for both
		o.Shadow, o.Second, o.SecondRoom = sh.ID, hashes, store.Unlimited
	}
	r.Body = o
	return r
}

// blank returns the outline of an empty filter of the kind of another.
func (w *world) blank(e *catalog.Entry) []byte {
	row := contents.PartOf(e).Row()
	f, err := row.New(1+w.rng.IntN(300), 0.1, hashing.Hasher{})
	if err != nil {
		panic(err)
	}
	outline, err := codec.AppendOutline(nil, f)
	if err != nil {
		panic(err)
	}
	return outline
}

// load loads a filter of two parts in pieces and gives it a name.
func (w *world) load(name []byte, at int64) {
	var parts [][]byte
	for range 2 {
		f := bloom.New(2000, 0.01)
		for range 100 {
			f.AddHash(w.rng.Uint64())
		}
		data, err := f.MarshalBinary()
		if err != nil {
			panic(err)
		}
		parts = append(parts, data)
	}
	res := w.do(store.Record{At: at, Body: &store.Stage{As: store.OpFilterLoad, Header: contents.AppendPlan(nil, &contents.Plan{Parts: 1, Version: uint64(at)})}})
	if res == nil || res.Entry == nil {
		return
	}
	id := res.Entry.ID
	for i, data := range parts {
		for from := 0; from < len(data); from += 1000 {
			w.do(store.Record{ID: id, Index: uint32(i), Body: &store.FilterPiece{Offset: int64(from), Of: uint64(len(data)), Data: data[from:min(from+1000, len(data))]}})
		}
	}
	w.do(store.Record{At: at, Body: &store.Reveal{ID: id, Name: name}})
}

// newSketch makes a sketch of some kind.
func (w *world) newSketch(name []byte, at int64) store.Record {
	o := &store.Make{As: store.OpTDigest, Name: name, Header: redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 1 + w.rng.Int64N(5)})}
	switch w.rng.IntN(3) {
	case 0:
		o.As, o.Header = store.OpCountMin, nil
		for _, v := range []uint64{1 + w.rng.Uint64N(2)*200, 3, 0} {
			o.Header = binary.LittleEndian.AppendUint64(o.Header, v)
		}
	case 1:
		o.As = store.OpTopK
		o.Header = redisbloom.AppendTopKHeader(nil, redisbloom.TopKParams{K: 3, Width: 1 + w.rng.Uint32N(100), Depth: 2, Decay: 0.5})
	}
	return store.Record{At: at, Body: o}
}

// sketched returns a record of a part that is a sketch.
func (w *world) sketched(id uint64, p *contents.Part) (r store.Record, ok bool) {
	r.ID = id
	var value []byte
	switch {
	case p.CountMin() != nil:
		for range 1 + w.rng.IntN(4) {
			value = store.AppendIncrement(value, w.rng.Uint64N(9), []byte{byte(w.rng.IntN(99))}, p.Depth())
		}
		r.Body = &store.CountMinIncr{Items: value}
	case p.TopK() != nil:
		for range 1 + w.rng.IntN(4) {
			value = store.AppendCounted(value, w.rng.Uint32N(9), []byte{byte(w.rng.IntN(99))})
		}
		r.Body = &store.TopKIncr{Items: value}
	case p.TDigest() != nil:
		switch w.rng.IntN(5) {
		case 0:
			r.Body = &store.TDigestCompress{}
		case 1:
			r.Body = &store.TDigestBegin{}
		default:
			for range 1 + w.rng.IntN(9) {
				value = store.AppendValue(value, w.rng.NormFloat64())
			}
			r.Body = &store.TDigestAdd{Values: value}
		}
	default:
		return r, false
	}
	return r, true
}

// transaction writes a group.
func (w *world) transaction() {
	if w.door.Refuses() != nil {
		return
	}
	w.group = true
	w.do(store.Record{Body: &store.Begin{}})
	for range 1 + w.rng.IntN(4) {
		w.write()
	}
	w.group = false
	w.do(store.Record{Body: &store.Commit{}})
}

// step does something, and what the background would.
func (w *world) step() error {
	switch k := w.rng.IntN(40); {
	case k == 0:
		if err := w.door.Snapshot(); err != nil && !w.disk.Dead() && !w.full {
			return err
		}
	case k == 1:
		return w.close()
	case k == 2:
		w.full = w.rng.IntN(2) == 0
	case k < 5:
		w.transaction()
	case k < 12:
		w.now = w.now.Add(time.Duration(w.rng.IntN(400)) * time.Millisecond)
		if err := w.door.Step(); err != nil && !w.disk.Dead() && !w.full {
			return err
		}
	case k == 12 && w.mode == local.EverySecond:
		w.now = w.now.Add(1500 * time.Millisecond) // the background is stuck
		w.write()
	default:
		w.write()
	}
	return nil
}

// close ends the door as a shutdown does and starts it again.
func (w *world) close() error {
	w.full = false
	err := w.door.Close()
	if w.disk.Dead() {
		return nil
	}
	if err != nil {
		return err
	}
	w.kept = len(w.past) - 1
	return w.open()
}

// run lives through a number of power cuts.
func (w *world) run(cuts int) error {
	w.disk.Fail = w.meanwhile
	w.disk.CutAfter(w.rng.IntN(80))
	if err := w.open(); err != nil {
		return err
	}
	for w.cuts < cuts {
		if err := w.step(); err != nil {
			return err
		}
		if err := w.door.Sync(); err == nil {
			w.acked = len(w.past) - 1
			if w.mode == local.Always {
				w.kept = w.acked
			}
		}
		killed := w.rng.IntN(60) == 0
		if killed && !w.disk.Dead() {
			w.full = false
			w.disk.Kill()
			if err := w.open(); err != nil {
				return fmt.Errorf("after a kill: %w", err)
			}
			continue
		}
		if w.disk.Dead() {
			w.cut()
			if err := w.open(); err != nil {
				return err
			}
		}
	}
	return nil
}

var modes = []local.Fsync{local.Always, local.EverySecond, local.Never}

// TestPowerCuts cuts the power at random operations: what comes back is always a
// state that was, never one inside a transaction; in mode always none that was
// answered is lost, in mode everysec at most one second of them.
func TestPowerCuts(t *testing.T) {
	n := *cuts
	if testing.Short() {
		n /= 10
	}
	const each = 5
	for i, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			done, folds := 0, 0
			for seed := uint64(i); done < n/len(modes)+1; seed += 3 {
				w := newWorld(seed, mode, "")
				if err := w.run(each); err != nil {
					t.Fatalf("seed %d, cut %d: %v", seed, w.cuts, err)
				}
				done += w.cuts
				folds += w.folds
			}
			t.Logf("%d power cuts, %d filters folded", done, folds)
			if folds == 0 && !testing.Short() {
				t.Error("no filter was folded")
			}
		})
	}
}

// syncs names what makes something durable, by the function: of those that are at work
// the innermost counts.
var syncs = map[string]string{
	"(*log).step": "log", "(*log).wait": "log", "(*log).room": "log", "(*log).close": "log", "(*Door).recover": "log", "(*Door).SyncTo": "log",
	"(*log).create":        "log-folder", // the name of a new log file
	"(*log).rotate":        "rotated",    // the end of a log file, before the next is begun
	"(*log).barrier":       "barrier",    // the log up to a snapshot, before the manifest is in place
	"(*Door).mend":         "mended",     // what was replayed, before more is written behind it
	"(*partsWriter).write": "part", "(*partsWriter).finish": "part",
	"(*Saver).parts":    "part-names", // before the manifest names them
	"(*Manifest).Write": "manifest",   // before it is renamed
	"(*Saver).take":     "renamed",    // before anything older is removed
}

// leaving is a disk that leaves some syncs out.
type leaving struct {
	*powercut.Disk
	out string
}

// leaves reports whether the sync that is asked for is one of them.
func (d leaving) leaves() bool {
	if d.out == "" {
		return false
	}
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		_, name, _ := strings.Cut(path.Base(f.Function), ".")
		parts := append(strings.SplitN(name, ".", 3), "", "")
		if point, ok := syncs[parts[0]+"."+parts[1]]; ok || !more {
			return point == d.out
		}
	}
}

func (d leaving) Sync() error {
	if d.leaves() {
		return nil
	}
	return d.Disk.Sync()
}

func (d leaving) Create(name string) (folder.File, error) { return d.file(d.Disk.Create(name)) }
func (d leaving) Append(name string) (folder.File, error) { return d.file(d.Disk.Append(name)) }

func (d leaving) file(f folder.File, err error) (folder.File, error) {
	if err != nil {
		return nil, err
	}
	return leavingFile{f, d}, nil
}

type leavingFile struct {
	folder.File
	d leaving
}

func (f leavingFile) Sync() error {
	if f.d.leaves() {
		return nil
	}
	return f.File.Sync()
}

// TestEverySyncIsNeeded leaves out one sync at a time: the power cuts must
// notice.
func TestEverySyncIsNeeded(t *testing.T) {
	for _, point := range slices.Compact(slices.Sorted(maps.Values(syncs))) {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20_000) {
				w := newWorld(seed, modes[seed%3], point)
				if err := w.run(5); err != nil {
					t.Logf("seed %d, mode %v, cut %d: %v", seed, w.mode, w.cuts, err)
					return
				}
			}
			t.Error("nothing was lost without it")
		})
	}
}
