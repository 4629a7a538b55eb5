package cluster

// Small decisions on messages, ops and questions, asked for one by one.

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/heartbeat"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestStrayWakes asks that who waits for a sequence goes on when there is a stray at it.
func TestStrayWakes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, memlog.New(1, memlog.Faults{}), Config{})
		l := d.wide()
		seq, reached := l.seq.Load()+1, false
		go func() { reached = l.reach(seq) }()
		synctest.Wait()
		if l.tookStray(seq, []byte("stray"), messages.ErrStray); d.stats.stray.Load() != 1 {
			t.Errorf("%d strays are counted", d.stats.stray.Load())
		}
		if synctest.Wait(); !reached {
			t.Error("nobody was woken")
		}
	})
}

// TestLag asks that a node knows from beats how far others are, also from those that know
// of fewer lanes.
func TestLag(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, b := open(t, log, Config{Lanes: 2}), open(t, log, Config{})
		synctest.Wait()
		v := heartbeat.Beat{Node: b.number.Load(), Level: 1, At: time.Now().UnixMilli()}
		for _, l := range a.all() {
			v.Applied, v.Kept = append(v.Applied, l.seq.Load()), append(v.Kept, 0)
		}
		hear := func(lanes int) uint64 {
			v := v
			v.Applied, v.Kept = v.Applied[:lanes], v.Kept[:lanes]
			a.hear(v.Bytes(a.id.Load()))
			return a.Cluster().Lag
		}
		if lag := hear(4); lag != 0 {
			t.Errorf("a lag of %d behind an equal node", lag)
		}
		v.Applied[0] += 3
		v.Applied[3] += 4
		if lag := hear(4); lag != 7 || a.Cluster().Lanes[0].Head != v.Applied[0] {
			t.Errorf("a lag of %d, want 7", lag)
		}
		if lag := hear(1); lag != 3 {
			t.Errorf("a lag of %d behind a node that knows one lane, want 3", lag)
		}
	})
}

// TestLatest asks which places a message names if it would name too many: of each lane
// the last.
func TestLatest(t *testing.T) {
	got := latest([]messages.Place{{Lane: 1, Seq: 5}, {Lane: 0, Seq: 3}, {Lane: 1, Seq: 7}, {Lane: 2, Seq: 1}, {Lane: 0, Seq: 9}, {Lane: 1, Seq: 6}})
	if want := []messages.Place{{Lane: 0, Seq: 9}, {Lane: 1, Seq: 7}, {Lane: 2, Seq: 1}}; !slices.Equal(got, want) {
		t.Errorf("places %v, want %v", got, want)
	}
	d, err := Open(Config{State: store.New(), Log: memlog.New(1, memlog.Faults{}).Node(ErrFull), Files: &folder.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	var rides []*ride
	for i := range uint64(messages.MaxPlaces) {
		rides = append(rides, &ride{after: []messages.Place{{Lane: 1, Seq: i}}})
	}
	if got := d.catalogue().after(rides); len(got) != messages.MaxPlaces {
		t.Errorf("%d places, want %d", len(got), messages.MaxPlaces)
	}
	rides = append(rides, &ride{after: []messages.Place{{Lane: 2, Seq: 1}}})
	if got := d.catalogue().after(rides); !slices.Equal(got, []messages.Place{{Lane: 1, Seq: messages.MaxPlaces - 1}, {Lane: 2, Seq: 1}}) {
		t.Errorf("places %v", got)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestEmptyRides asks that an op in a message behind rides without records gets its own
// result.
func TestEmptyRides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, memlog.New(1, memlog.Faults{}), Config{})
		b := &batch{rides: make([]ride, 2), done: make(chan struct{}), until: time.Now().Add(time.Minute)}
		b.left.Store(2)
		var ops []*door.Op
		for i := range b.rides {
			r := &b.rides[i]
			op := &door.Op{Way: r}
			r.batch, r.lane, r.op, r.empty = b, d.catalogue(), op, true
			ops = append(ops, op)
			d.catalogue().enqueue([]*ride{r})
		}
		made := &door.Op{Record: store.Record{Body: &store.MakeCuckoo{Name: []byte("f"), Params: redisbloom.CuckooParams{Capacity: 100, BucketSize: 2, MaxIterations: 20, Expansion: 1}}}}
		d.Do([]*door.Op{made})
		d.Wait(append(ops, made))
		if made.Err != nil || made.Result.Entry == nil || made.Result.Entry.Name() != "f" {
			t.Errorf("made %+v, %v", made.Result.Entry, made.Err)
		}
		if ops[0].Err != nil || ops[0].Result.Entry != nil || ops[1].Result.Entry != nil {
			t.Errorf("those without a record have %+v and %+v, %v", ops[0].Result.Entry, ops[1].Result.Entry, ops[0].Err)
		}
	})
}

// TestRepeatsAreCounted asks that only messages which were sent again count as repeated.
func TestRepeatsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Answer: time.Second})
		d := open(t, log, Config{})
		if err := do(d, set("a")); err != nil {
			t.Fatal(err)
		}
		if c := d.Cluster(); c.Sent == 0 || c.Repeated != 0 {
			t.Errorf("%d messages were sent, %d of them again", c.Sent, c.Repeated)
		}
		before := d.Cluster().Sent
		log.SetFaults(memlog.Faults{Answer: time.Second, Lost: 1})
		op := set("b")
		d.Do([]*door.Op{op})
		time.Sleep(500 * time.Millisecond)
		log.SetFaults(memlog.Faults{})
		if d.Wait([]*door.Op{op}); op.Err != nil {
			t.Fatal(op.Err)
		}
		if c := d.Cluster(); c.Sent != before+2 || c.Repeated != 1 {
			t.Errorf("a message that was lost once was sent %d times, %d were repeats", c.Sent-before, c.Repeated)
		}
	})
}

// led is a log that knows who leads its lanes.
type led struct {
	*speaker
	leader func(lane int) string
}

var _ Leaders = led{}

func (l led) Leader(lane int) (string, bool) { return l.leader(lane), false }

// TestDeciderByServer asks that the node whose server leads the catalogue is the one that
// decides, as others see it.
func TestDeciderByServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, p := memlog.New(1, memlog.Faults{}), &parliament{}
		var catalogue atomic.Value // who leads it, while the nodes ask
		catalogue.Store("b")
		leader := func(lane int) string {
			if lane == 0 {
				return catalogue.Load().(string)
			}
			return "a"
		}
		join := func(name string) *Door {
			return openAs(t, log, Config{Name: name, Lanes: 1, Leads: func() bool { return leader(0) == name }},
				func(n *memlog.Node) Log { return led{&speaker{Node: n, p: p, name: name}, leader} })
		}
		a, b := join("a"), join("b")
		time.Sleep(time.Second)
		for leader, want := range map[string]uint32{"a": a.number.Load(), "b": b.number.Load(), "c": 0, "": 0} {
			catalogue.Store(leader)
			if got := a.Cluster().Decider; got != want {
				t.Errorf("%q leads the catalogue, and node %d decides, want %d", leader, got, want)
			}
		}
	})
}

// TestShortMessages asks that nothing which is too short for a header counts as sent by a
// node, whatever its checksum is.
func TestShortMessages(t *testing.T) {
	whole := messages.AppendHeader(nil, &messages.Header{})
	for n := range whole {
		if _, err := messages.Parse(new(messages.Header), messages.AppendSum(whole[:n:n])); !errors.Is(err, messages.ErrStray) {
			t.Errorf("%d bytes and their checksum: %v", n, err)
		}
	}
	if _, err := messages.Parse(new(messages.Header), messages.AppendSum(whole)); err != nil {
		t.Errorf("a message without records: %v", err)
	}
}

// TestLongQuestions asks that a question with more numbers than any has is not answered.
func TestLongQuestions(t *testing.T) {
	d, err := Open(Config{State: store.New(), Log: memlog.New(1, memlog.Faults{}).Node(ErrFull), Files: &folder.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		question []byte
		want     error
	}{
		{nil, errQuestion},
		{question(askRead, 1, 2, 3, 4), errNoHold},
		{append(question(askRead, 1, 2, 3, 4), 5), errQuestion},
		{question(askRead, 1, 2, 3), errQuestion},
		{[]byte{askRead, 0xff}, errQuestion},
		{question(askRelease, 1), nil},
		{question(askRelease), errQuestion},
		{question(99), errQuestion},
		{question(askHold), door.ErrDown},
		{question(askHold, 1), errQuestion},
	} {
		if _, err := d.answer(c.question, func() {}); !errors.Is(err, c.want) {
			t.Errorf("%x is answered %v, want %v", c.question, err, c.want)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// settled is an Admitter that counts what is given back.
type settled struct{ bytes uint64 }

func (s *settled) Admit(*contents.Part, []*door.Op) (uint64, bool) { return 0, true }
func (s *settled) Settle(aside uint64)                             { s.bytes += aside }

// TestReleasedOnce asks that what was set aside for a run is given back once.
func TestReleasedOnce(t *testing.T) {
	var s settled
	r := ride{admit: &s, aside: 5}
	r.release()
	r.release()
	(&ride{aside: 7}).release()
	if s.bytes != 5 {
		t.Errorf("%d bytes were given back, want 5", s.bytes)
	}
}

// TestUnsentResults asks that nothing is left in the result of an op that was not sent.
func TestUnsentResults(t *testing.T) {
	broken := errors.New("broken")
	for name, settle := range map[string]func([]*door.Op, error){"answer": answer, "refuse": refuse} {
		op := &door.Op{Result: store.Result{Outcome: contents.Outcome{Changed: true, Done: 3}, N: 4}}
		if settle([]*door.Op{op}, broken); !op.Settled || op.Result.Err != broken || op.Result.Changed || op.Result.Done != 0 || op.Result.N != 0 || (op.Err != nil) != (name == "refuse") {
			t.Errorf("%s: %+v", name, op)
		}
	}
}

// TestOwnMessages asks which messages this process has sent: those of its node, in its
// session.
func TestOwnMessages(t *testing.T) {
	d, err := Open(Config{State: store.New(), Log: memlog.New(1, memlog.Faults{}).Node(ErrFull), Files: &folder.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	d.number.Store(3)
	for _, c := range []struct {
		session uint64 // of this node
		h       messages.Header
		want    bool
	}{
		{7, messages.Header{Node: 3, Session: 7}, true},
		{7, messages.Header{Node: 3, Session: 6}, false},
		{7, messages.Header{Node: 4, Session: 7}, false},
		{7, messages.Header{Node: 4, Session: 6}, false},
		{0, messages.Header{Node: 3, Session: 0}, false},
	} {
		d.session.Store(c.session)
		if got := d.catalogue().own(&c.h); got != c.want {
			t.Errorf("session %d, message of node %d and session %d: own %v", c.session, c.h.Node, c.h.Session, got)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// asideMemory counts what is set aside, and what is taken all the same.
type asideMemory struct{ now, most, claimed uint64 }

func (m *asideMemory) Reserve(n uint64) bool { m.now += n; m.most = max(m.most, m.now); return true }
func (m *asideMemory) Claim(n uint64)        { m.now += n; m.claimed += n }
func (m *asideMemory) Release(n uint64)      { m.now -= n }

// TestDigestsAreCompressedOutsideOfLocks has a large digest compressed, and values added to one that is full: every node makes
// another one of it, without its lock, which has all that it would have had.
func TestDigestsAreCompressedOutsideOfLocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, b := open(t, log, Config{}), open(t, log, Config{})
		want, _ := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: 3000})
		header := redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 3000})
		do := func(r store.Record) *door.Op {
			t.Helper()
			op := &door.Op{Record: r}
			a.Do([]*door.Op{op})
			a.Wait([]*door.Op{op})
			if synctest.Wait(); op.Err != nil || op.Result.Err != nil {
				t.Fatal(op.Err, op.Result.Err)
			}
			return op
		}
		id := do(store.Record{Body: store.FromDump(catalog.TDigest, []byte("d"), header)}).Result.Entry.ID
		arrays := func() (list []*byte) {
			t.Helper()
			expected, _ := want.MarshalBinary()
			for _, d := range []*Door{a, b} {
				digest := contents.PartOf(d.state.Names.ByID(id)).TDigest()
				if got, _ := digest.MarshalBinary(); !bytes.Equal(got, expected) {
					t.Errorf("node %d has another digest", d.number.Load())
				}
				for array := range digest.Arrays() {
					list = append(list, &array[0])
				}
			}
			return list
		}
		var aside asideMemory
		a.state.SetMemory(&aside)
		before, mapped := arrays(), a.state.Mapped()
		changed := func(what string, other bool) {
			t.Helper()
			now := arrays()
			for i := range now {
				if (now[i] != before[i]) != other {
					t.Errorf("%s: node %d has another array: %t, want %t", what, i+1, now[i] != before[i], other)
				}
			}
			before = now
		}
		add := func(n int) {
			t.Helper()
			var body store.TDigestAdd
			for i := range n {
				v := float64(i * 7919 % 4001)
				body.Values = store.AppendValue(body.Values, v)
				_ = want.Add(v)
			}
			do(store.Record{ID: id, Body: &body})
		}
		for range 18 {
			add(1000)
		}
		changed("values are added", false)
		add(1000)
		changed("values are added to a full one", true)
		want.Compress()
		do(store.Record{ID: id, Body: &store.TDigestCompress{}})
		changed("it is compressed", true)
		for _, d := range []*Door{a, b} {
			if n := d.state.Mapped(); n != mapped {
				t.Errorf("node %d has %d bytes of arrays, want %d", d.number.Load(), n, mapped)
			}
		}
		if aside.most == 0 || aside.now != 0 {
			t.Errorf("%d bytes were set aside at most, and %d are", aside.most, aside.now)
		}
	})
}

// askedMemory asks a test whether there is memory, outside of all locks of parts.
type askedMemory struct {
	asideMemory
	ask func() bool

	given, refused int
}

func (m *askedMemory) Reserve(n uint64) bool {
	if !m.ask() {
		m.refused++
		return false
	}
	m.given++
	return m.asideMemory.Reserve(n)
}

// TestDigestsAreAlikeWhateverIsPrepared has nodes of which one, or the other, or none has memory to compress a digest outside of
// its lock, refuses what cannot be added to a full one, and removes it while it is compressed: all of them have the same, and
// give back what they have taken.
func TestDigestsAreAlikeWhateverIsPrepared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		doors := []*Door{open(t, log, Config{}), open(t, log, Config{})}
		rng := rand.New(rand.NewPCG(3, 4))
		params := redisbloom.TDigestParams{Compression: 3000}
		want, _ := redisbloom.NewTDigest(params)
		var mapped []int64
		memories := make([]*askedMemory, len(doors))
		for i, d := range doors {
			mapped = append(mapped, d.state.Mapped())
			chance := rand.New(rand.NewPCG(5, uint64(i)))
			memories[i] = &askedMemory{ask: func() bool { return chance.IntN(2) == 0 }}
			d.state.SetMemory(memories[i])
		}
		do := func(r store.Record) store.Result {
			t.Helper()
			op := &door.Op{Record: r}
			doors[0].Do([]*door.Op{op})
			doors[0].Wait([]*door.Op{op})
			if synctest.Wait(); op.Err != nil {
				t.Fatal(op.Err)
			}
			return op.Result
		}
		id := do(store.Record{Body: store.FromDump(catalog.TDigest, []byte("d"), redisbloom.AppendTDigestHeader(nil, params))}).Entry.ID
		values := func(list ...float64) *store.TDigestAdd {
			var body store.TDigestAdd
			for _, v := range list {
				body.Values = store.AppendValue(body.Values, v)
			}
			return &body
		}
		for range 150 {
			list := make([]float64, 1+rng.IntN(3000))
			for i := range list {
				list[i] = rng.NormFloat64()
			}
			var body store.Body = values(list...)
			fails := false
			switch rng.IntN(40) {
			case 0:
				want.Reset()
				body = &store.TDigestBegin{}
			case 1, 2, 3, 4:
				want.Compress()
				body = &store.TDigestCompress{}
			case 5, 6, 7, 8, 9, 10, 11, 12:
				body, fails = values(append(list, math.NaN())...), true
			default:
				_ = want.Add(list...)
			}
			if res := do(store.Record{ID: id, Body: body}); (res.Err != nil) != fails {
				t.Fatal(res.Err)
			}
			expected, _ := want.MarshalBinary()
			for i, d := range doors {
				if got, _ := contents.PartOf(d.state.Names.ByID(id)).TDigest().MarshalBinary(); !bytes.Equal(got, expected) {
					t.Fatalf("node %d has another digest", i+1)
				}
				if n := memories[i].now; n != 0 {
					t.Fatalf("node %d has %d bytes set aside", i+1, n)
				}
			}
		}
		for i, m := range memories {
			if m.given < 5 || m.refused < 5 {
				t.Errorf("node %d had memory %d times, and had none %d times", i+1, m.given, m.refused)
			}
		}
		// The name, and the digest, go while both nodes compress it.
		do(store.Record{ID: id, Body: values(1, 2, 3)})
		remove := &door.Op{Record: store.Record{Body: &store.Remove{Names: [][]byte{[]byte("d")}}}}
		var once sync.Once
		for i, d := range doors {
			p := contents.PartOf(d.state.Names.ByID(id))
			memories[i].ask = func() bool {
				once.Do(func() { doors[0].Do([]*door.Op{remove}) })
				for gone := false; !gone; time.Sleep(time.Millisecond) {
					p.RLock()
					gone = p.Gone()
					p.RUnlock()
				}
				return true
			}
		}
		if res := do(store.Record{ID: id, Body: &store.TDigestCompress{}}); !errors.Is(res.Err, contents.ErrRetry) {
			t.Error("a digest that is gone:", res.Err)
		}
		doors[0].Wait([]*door.Op{remove})
		time.Sleep(time.Second) // the other node may not have looked yet whether the digest is gone
		synctest.Wait()
		for i, d := range doors {
			if n := d.state.Mapped(); n != mapped[i] || memories[i].now != 0 || d.state.Copied() != 0 {
				t.Errorf("node %d has %d bytes of arrays, want %d; %d set aside, %d of copies", i+1, n, mapped[i], memories[i].now, d.state.Copied())
			}
		}
	})
}
