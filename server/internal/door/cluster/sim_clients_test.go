package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bloomery/bloomery/codec"
	counts "github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// model is what clients know of the state: how often they have changed what is never
// removed, and what they were answered.
type model struct {
	mu     sync.Mutex
	counts map[string]*tally
	owned  []owned
	wrong  []error
}

// tally is changes of a counter: those that were acknowledged, and those of which
// nobody knows.
type tally struct{ acked, unknown int64 }

// owned is memory of an op that was given up: nobody may write into it (I8).
type owned struct {
	op    *door.Op
	codes []int8
}

func (m *model) init() { m.counts = map[string]*tally{} }

// note counts changes of a name.
func (m *model) note(name string, n int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts[name]
	if c == nil {
		c = &tally{}
		m.counts[name] = c
	}
	switch {
	case err == nil:
		c.acked += n
	case errors.Is(err, door.ErrUnknown):
		c.unknown += n
	}
}

// answered returns what was acknowledged so far.
func (m *model) answered() answered {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := answered{}
	for name, c := range m.counts {
		a[name] = c.acked
	}
	return a
}

// answered is acknowledged changes by name.
type answered map[string]int64

// missing returns what a state lacks of them.
func (a answered) missing(state *store.State) (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if got, known := countOf(state, name); known && got < a[name] {
			errs = append(errs, fmt.Errorf("%s has %d changes, and %d were acknowledged", name, got, a[name]))
		}
	}
	return errs
}

// check compares a state with what clients know: each change counts once (I2), and
// all that were acknowledged count (I3).
func (m *model) check(state *store.State) (errs []error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.counts)) {
		c := m.counts[name]
		if got, known := countOf(state, name); known && (got < c.acked || got > c.acked+c.unknown) {
			errs = append(errs, fmt.Errorf("%s has %d changes: %d were acknowledged, and %d may be there", name, got, c.acked, c.unknown))
		}
	}
	return errs
}

// countOf returns how often a name was changed: the value of a number, the items of a
// filter. It is not known of a filter that this node does not answer for.
func countOf(state *store.State, name string) (n int64, known bool) {
	e := state.Names.Lookup([]byte(name), time.Now().UnixMilli())
	if e == nil {
		return 0, true
	}
	p := contents.PartOf(e)
	if p == nil {
		n, _ := strconv.ParseInt(store.Text(e), 10, 64)
		return n, true
	}
	p.RLock()
	defer p.RUnlock()
	if p.Moved() || !state.Answers(p) {
		return 0, false
	}
	return int64(p.Cuckoo().Items() + 2*p.Cuckoo().Deletes()), true
}

// written returns who wrote into memory that was not his.
func (m *model) written() []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.owned {
		for i, c := range o.codes {
			if c != poison {
				m.wrong = append(m.wrong, fmt.Errorf("a result was written after the op was given up: code %d is %d", i, c))
			}
		}
		if o.op.Result.Done != -1 {
			m.wrong = append(m.wrong, errors.New("a result was written after the op was given up"))
		}
	}
	return m.wrong
}

const poison = int8(77)

// client is somebody who sends commands to a node.
type client struct {
	s       *sim
	d       *Door
	state   *store.State
	between func()
}

// client runs steps on a node, whatever becomes of it.
func (s *sim) client(i, steps int) {
	for range steps {
		time.Sleep(time.Duration(s.intn(300)) * time.Millisecond * s.slower())
		d, state := s.door(i)
		if d == nil {
			continue
		}
		c := &client{s, d, state, s.between(i)}
		switch s.intn(16) {
		case 0, 1:
			c.increment()
		case 2, 3, 4, 5:
			c.insert()
		case 6:
			c.delete()
		case 7:
			c.group()
		case 8, 9:
			c.others()
		case 10, 11:
			c.parts()
		case 12:
			c.copy()
		case 13, 14:
			c.names()
		case 15:
			c.readElsewhere()
		}
	}
}

// send puts records in order and waits. It returns the error of the first that was
// not kept.
func (c *client) send(records ...store.Record) ([]*door.Op, error) {
	ops := make([]*door.Op, len(records))
	for i, r := range records {
		r.At = time.Now().UnixMilli()
		ops[i] = &door.Op{Record: r, Applied: c.between}
		if o, ok := r.Body.(store.Items); ok {
			ops[i].Result.Codes = make([]int8, 0, o.Len())
		}
	}
	c.d.Do(ops)
	c.d.Wait(ops)
	return ops, c.settled(ops)
}

// settled poisons what was given up.
func (c *client) settled(ops []*door.Op) (err error) {
	for _, op := range ops {
		if op.Err == nil {
			continue
		}
		err = op.Err
		if !errors.Is(err, door.ErrUnknown) && !errors.Is(err, door.ErrRefused) {
			c.s.errorf("an op ends with %v", err)
		}
		codes := op.Result.Codes[:cap(op.Result.Codes)]
		for i := range codes {
			codes[i] = poison
		}
		op.Result.Done = -1
		c.s.model.mu.Lock()
		c.s.model.owned = append(c.s.model.owned, owned{op, codes})
		c.s.model.mu.Unlock()
	}
	return err
}

// kept returns a name that nobody removes.
func (c *client) kept(kind string) string { return fmt.Sprint("kept-", kind, c.s.intn(simKept)) }

func (c *client) increment() {
	name := c.kept("number")
	ops, err := c.send(store.Record{Body: &store.Increment{Name: []byte(name), By: 1}})
	c.s.model.note(name, 1, err)
	if err == nil && ops[0].Result.Err != nil {
		c.s.errorf("%s: %v", name, ops[0].Result.Err)
	}
}

var cuckooOf = redisbloom.CuckooParams{Capacity: 4096, BucketSize: 4, MaxIterations: 20, Expansion: 1}

// filter returns the id of a filter, which it makes if it is not there.
func (c *client) filter(name string) (id uint64, ok bool) {
	for range 100 {
		if e := c.state.Names.Lookup([]byte(name), time.Now().UnixMilli()); e != nil {
			return e.ID, contents.PartOf(e) != nil
		}
		if _, err := c.send(store.Record{Body: &store.MakeCuckoo{Name: []byte(name), Params: cuckooOf}}); err != nil {
			return 0, false
		}
	}
	c.s.errorf("%s cannot be made", name)
	return 0, false
}

// insert inserts into a filter by several records, which are one message or more.
func (c *client) insert() {
	name := c.kept("filter")
	id, ok := c.filter(name)
	if !ok {
		return
	}
	records := make([]store.Record, 1+c.s.intn(4))
	for i := range records {
		records[i] = store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: c.hashes(1 + c.s.intn(3))}}
	}
	ops, _ := c.send(records...)
	for _, op := range ops {
		if op.Err == nil && errors.Is(op.Result.Err, contents.ErrRetry) && (c.s.flush || c.s.spread) {
			continue
		}
		c.s.model.note(name, int64(op.Record.Body.(store.Items).Len()), op.Err)
		if op.Err == nil && op.Result.Err != nil {
			c.s.errorf("insert into %s: %v", name, op.Result.Err)
		}
		for _, code := range op.Result.Codes {
			if op.Err == nil && code != redisbloom.Inserted {
				c.s.errorf("insert into %s: code %d", name, code)
			}
		}
	}
}

// hashes returns hashes that are never the same.
func (c *client) hashes(n int) []uint64 {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	list := make([]uint64, n)
	for i := range list {
		list[i] = c.s.random.Uint64()
	}
	return list
}

// delete inserts a hash and deletes it: an item less and a delete more, which count
// as one change.
func (c *client) delete() {
	name := c.kept("filter")
	id, ok := c.filter(name)
	if !ok {
		return
	}
	h := c.hashes(1)
	ops, err := c.send(store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: h}})
	if errors.Is(ops[0].Result.Err, contents.ErrRetry) && c.s.spread {
		return // it has moved
	}
	if c.s.model.note(name, 1, err); err != nil {
		return
	}
	ops, err = c.send(store.Record{ID: id, Body: &store.CuckooDelete{Hashes: h}})
	if errors.Is(ops[0].Result.Err, contents.ErrRetry) && c.s.spread {
		return
	}
	c.s.model.note(name, 1, err)
	if err == nil && !c.s.flush && (ops[0].Result.Err != nil || !ops[0].Result.Bools[0]) {
		c.s.errorf("delete from %s: %v, %v", name, ops[0].Result.Err, ops[0].Result.Bools)
	}
}

// group adds the same to two numbers at once, on a condition that may fail.
func (c *client) group() {
	a, b := "kept-pair0", "kept-pair1"
	now := time.Now().UnixMilli()
	expect := &store.Expect{Name: []byte("other-text0")}
	if e, deadline := c.state.Names.Deadline(expect.Name, now); e != nil {
		expect.ID, expect.Deadline = e.ID, deadline
	}
	ops := []*door.Op{
		{Record: store.Record{At: now, Body: expect}},
		{Record: store.Record{At: now, Body: &store.Increment{Name: []byte(a), By: 1}}},
		{Record: store.Record{At: now, Body: &store.Increment{Name: []byte(b), By: 1}}},
	}
	seen := 0
	for _, op := range ops {
		op.Applied = func() { seen++ }
	}
	if err := c.d.DoGroup(ops); err != nil {
		if !errors.Is(err, door.ErrRefused) {
			c.s.errorf("group: %v", err)
		}
		return
	}
	c.d.Wait(ops)
	if err := c.settled(ops); err != nil {
		c.s.model.note(a, 1, err)
		c.s.model.note(b, 1, err)
		return
	}
	switch err := ops[0].Result.Err; {
	case err == nil:
		c.s.model.note(a, 1, nil)
		c.s.model.note(b, 1, nil)
		if seen != 3 || ops[1].Result.N != ops[2].Result.N {
			c.s.errorf("group: %d of 3 were seen, values %d and %d", seen, ops[1].Result.N, ops[2].Result.N)
		}
	case !errors.Is(err, store.ErrCondition) || !errors.Is(ops[2].Result.Err, store.ErrCondition) || seen != 0:
		c.s.errorf("group: %v, %v, %d were seen", err, ops[2].Result.Err, seen)
	}
}

// others makes and fills filters that others remove and rename.
func (c *client) others() {
	id, ok := c.filter(fmt.Sprint("other-filter", c.s.intn(simNames)))
	if !ok {
		return
	}
	records := make([]store.Record, 2+c.s.intn(3))
	for i := range records {
		records[i] = store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: c.hashes(2)}}
	}
	ops, _ := c.send(records...)
	for _, op := range ops {
		if op.Err == nil && op.Result.Err != nil && !errors.Is(op.Result.Err, contents.ErrRetry) {
			c.s.errorf("insert: %v", op.Result.Err)
		}
	}
}

// parts adds to a filter of several parts, which are in several lanes, or all in the
// one that every node holds.
func (c *client) parts() {
	i := c.s.intn(4)
	name := fmt.Append(nil, "other-parts", i)
	e := c.state.Names.Lookup(name, time.Now().UnixMilli())
	if e == nil {
		outline, err := codec.AppendOutline(nil, counts.New(500, 0.01))
		if err != nil {
			c.s.errorf("%v", err)
			return
		}
		plan := contents.Plan{Parts: 2}
		if i%2 == 0 {
			plan.Replicas = contents.AllReplicas
		}
		_, _ = c.send(store.Record{Body: &store.Make{As: store.OpFilter, Name: name, Header: contents.AppendCreation(nil, &plan, outline)}})
		return
	}
	var records []store.Record
	for part := range uint32(4) {
		records = append(records, store.Record{ID: e.ID, Index: part, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: c.hashes(3)}})
	}
	_, _ = c.send(records...)
}

// copy makes a filter out of the dump of another: without a name, in pieces through its
// lane, and then with a name.
func (c *client) copy() {
	e := c.state.Names.Lookup([]byte(c.kept("filter")), time.Now().UnixMilli())
	if e == nil {
		return
	}
	p := contents.PartOf(e)
	var header []byte
	var pieces []store.Record
	p.RLock()
	if !p.Gone() && !p.Elsewhere() {
		header = p.Contents().AppendHeader(nil)
		for at := int64(1); at != 0; {
			next, chunk := p.Contents().ScanDump(at)
			if next != 0 {
				pieces = append(pieces, store.Record{Body: &store.CuckooChunk{Position: next, Data: bytes.Clone(chunk)}})
			}
			at = next
		}
	}
	p.RUnlock()
	if header == nil {
		return
	}
	ops, err := c.send(store.Record{Body: &store.Stage{As: store.OpCuckooDump, Header: header}})
	if err != nil || ops[0].Result.Err != nil {
		return
	}
	id := ops[0].Result.Entry.ID
	for i := range pieces {
		pieces[i].ID = id
	}
	if _, err := c.send(pieces...); err != nil {
		return // it is left behind
	}
	name := fmt.Append(nil, "other-filter", c.s.intn(simNames))
	ops, err = c.send(store.Record{Body: &store.Reveal{ID: id, Name: name}})
	if err == nil && ops[0].Result.Err != nil && !c.s.spread { // what was staged before contents are spread goes then
		c.s.errorf("reveal: %v", ops[0].Result.Err)
	}
}

// names removes, renames and expires.
func (c *client) names() {
	name := func(kind string) []byte { return fmt.Append(nil, "other-", kind, c.s.intn(simNames)) }
	switch c.s.intn(7) {
	case 6:
		if c.s.flush {
			_, _ = c.send(store.Record{Body: &store.Flush{}})
		}
	case 0:
		_, _ = c.send(store.Record{Body: &store.Remove{Names: [][]byte{name("filter"), name("text")}}})
	case 1:
		_, _ = c.send(store.Record{Body: &store.Rename{From: name("filter"), To: name("filter")}})
	case 2:
		_, _ = c.send(store.Record{Body: &store.Set{String: store.String{Name: name("text"), Value: name("value")}}})
	case 3:
		_, _ = c.send(store.Record{Body: &store.Expire{Name: name("filter"), Deadline: time.Now().UnixMilli() + 500}})
	case 4:
		ids := c.state.Names.Due(time.Now().UnixMilli(), 10)
		_, _ = c.send(store.Record{Body: &store.Evict{IDs: ids}})
	case 5:
		_, _ = c.send(store.Record{Body: &store.Append{String: store.String{Name: name("text"), Value: []byte("x")}}})
	}
}

// readElsewhere asks another node, which has to have what was acknowledged anywhere.
func (c *client) readElsewhere() {
	before := c.s.model.answered()
	i := c.s.intn(len(c.s.nodes))
	d, state := c.s.door(i)
	if d == nil || d.FreshNames() != nil {
		return
	}
	for name := range before {
		e := state.Names.Lookup([]byte(name), time.Now().UnixMilli())
		if e != nil && contents.PartOf(e) != nil && d.Fresh(e.ID, 0) != nil {
			return
		}
	}
	for _, err := range before.missing(state) {
		if d.Serving() == nil && !c.s.flush {
			c.s.errorf("node %d was asked to be fresh, and %v", i, err)
		}
	}
}
