package engine

// What a transaction costs.

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Costs adds up how many bytes the commands of a transaction touch, before any of them
// is run: all others wait while it runs. Commands say what they do to which names; how
// large these are is found out at the end, when nothing can change any more.
//
// A name has the largest size that it may have at any time of the transaction: that
// which it has now, or which a command of the transaction gives it, with all items that
// are added to it. So the order of commands does not matter, and whether they succeed
// does not either.
type Costs struct {
	e     *Engine
	s     *Session
	cmd   *Command // the one that is counted
	sum   uint64
	names map[string]*extent
	all   []*extent // in the order in which they were met, so that sums do not depend on that of a map
	last  *extent   // of the name that was met last
	name  string

	asked      uint64 // items that are asked for under all names
	askedBytes uint64 // of these items
	looks      uint64 // how often all names are described
	flushes    uint64 // how often all names are removed

	own     int    // bytes of the names that commands name
	matched uint64 // what a byte of an average name takes to be matched, for all names
}

// extent is what a transaction does to a name, or to several which may become each
// other.
type extent struct {
	in     *extent // it has become a part of this one
	names  []string
	made   []store.Body // what commands make of it
	staged []uint64
	adding store.Adding

	items, wholes, looks uint64
	visits, frees, makes uint64 // how often arrays are visited, let go, made
	rows                 uint64 // what every row of a sketch takes for the items
	adds                 uint64 // calls that add items

	text, appended, texts uint64 // of strings: the longest, what is appended, how often they are copied
}

// What is counted in bytes, besides data. A unit of max-transaction is 1 KiB: about 0.4
// microseconds of work.
const (
	wordBytes  = 512      // a word of a command
	slowBytes  = 1 << 20  // a command that is about the server and takes long
	nameBytes  = 1 << 10  // a name among all
	lookBytes  = 16 << 10 // a filter that is described
	arrayBytes = 256      // an array that is visited or let go
	layerBytes = 64       // an array that is visited to find out about costs
	partBytes  = 1 << 10  // a part that is visited for that
	madeBytes  = 16 << 10 // something that is made
	freeBytes  = 12 << 10 // a name that is removed
	userBytes  = 16 << 10 // a user or a client that is described

	matchBytes   = 24  // a byte of a name that is compared with a short pattern
	patternBytes = 16  // so many bytes of a longer pattern count for one more
	elementBytes = 512 // a byte of a pattern that is compiled

	tryBytes  = 16      // an increment that may have to wear down the count of another item
	unitBytes = 1 << 10 // of max-transaction
)

const textCost = "EXECABORT Transaction discarded: its commands touch %s of data or more, and all other clients would wait; " +
	"max-transaction allows %s (CONFIG SET max-transaction, in KiB). Send it in parts, and commands that work on large keys outside of MULTI"

// tooMuch returns why a transaction is refused, "" if it is not.
func (x *Costs) tooMuch() string {
	most := uint64(x.e.Settings.MaxTransaction.Load()) * unitBytes
	if n := x.total(most); n > most {
		return fmt.Sprintf(textCost, inBytes(n), inBytes(most))
	}
	return ""
}

// inBytes writes a number of bytes for people.
func inBytes(n uint64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// call adds what a call costs.
func (x *Costs) call(cmd *Command, c *Call) {
	for _, a := range c.Args {
		x.sum += wordBytes + uint64(min(len(a), store.Long))
	}
	x.cmd = cmd
	switch {
	case cmd.Cost != nil:
		before := c.cmd
		c.cmd = cmd
		cmd.Cost(x, c)
		c.cmd = before
	case cmd.Filter != nil:
		x.onFilter(c)
	case cmd.Sketch != nil:
		x.onSketch(c)
	case !cmd.gated && cmd.Flags&traits.Fast == 0:
		x.sum += slowBytes
	}
}

// onFilter adds what a command on the items of a filter costs. Options among the
// arguments count as items.
func (x *Costs) onFilter(c *Call) {
	f, n, e := x.cmd.Filter, max(len(c.Args)-2, 0), x.at(c.Args[1])
	x.hashed(c.Args[2:])
	e.items += uint64(n)
	switch {
	case f.Read != nil:
		e.visits++
	case f.Write == nil:
	case x.cmd.work == health.Delete:
		e.adding.Deletes += n
	default:
		e.adds++
		e.adding.Items += n
		if f.Hash != nil {
			e.adding.Hashes += n
		}
		if f.Write.Create != nil && (f.Parse != nil || len(e.made) == 0) {
			x.created(c, e)
		}
	}
}

// created notes what a command makes where there is no such name.
func (x *Costs) created(c *Call, e *extent) {
	f, probe := x.cmd.Filter, Call{Args: c.Args, Items: c.Args[2:], cmd: x.cmd}
	if f.Parse != nil {
		f.Parse(&x.s.ctx, &probe)
	}
	if !probe.answered {
		x.make(e, f.Write.Create(&x.s.ctx, &probe))
	}
}

// onSketch adds what a command on the items of a sketch costs.
func (x *Costs) onSketch(c *Call) {
	k, e := x.cmd.Sketch, x.at(c.Args[1])
	x.hashed(c.Args[2:])
	if k.Look != nil {
		e.looks++
		return
	}
	n := k.items(len(c.Args) - 2)
	if e.items += uint64(n); k.Body != nil {
		e.adding.Items += n
	}
	for i := 2; i < len(c.Args); i += max(k.Stride, 1) {
		e.rows = plus(e.rows, uint64(len(c.Args[i])))
	}
	if k.Tries != nil {
		e.rows = plus(e.rows, times(k.Tries(c.Args[2:]), tryBytes))
	}
}

// hashed adds the rest of long items: they are hashed as a whole.
func (x *Costs) hashed(items [][]byte) {
	for _, item := range items {
		x.sum += uint64(len(item) - min(len(item), store.Long))
	}
}

// at returns the extent of a name.
func (x *Costs) at(name []byte) *extent {
	if x.last != nil && string(name) == x.name {
		return x.last
	}
	e := x.names[string(name)]
	switch {
	case e == nil:
		x.name = string(name)
		e = &extent{names: []string{x.name}}
		if x.names == nil {
			x.names = map[string]*extent{}
		}
		x.names[x.name] = e
		x.all = append(x.all, e)
		x.own += len(name)
	case e.in != nil:
		for e.in != nil {
			e = e.in
		}
		x.names[string(name)] = e // the way is short the next time
		fallthrough
	default:
		x.name = string(name)
	}
	x.last = e
	return e
}

// Bytes adds n bytes.
func (x *Costs) Bytes(n int) { x.sum = plus(x.sum, uint64(n)) }

// Slow adds what a command costs that is about the server and takes long.
func (x *Costs) Slow() { x.sum += slowBytes }

// Items adds n items that are looked for in what has a name.
func (x *Costs) Items(name []byte, n int) { x.at(name).items += uint64(n) }

// Add adds items that are added to what has a name.
func (x *Costs) Add(name []byte, items [][]byte) {
	x.hashed(items)
	e := x.at(name)
	e.items += uint64(len(items))
	e.adding.Items += len(items)
}

// Whole adds all bytes of the filter or sketch of a name, so often.
func (x *Costs) Whole(name []byte, times int) { x.at(name).wholes += uint64(times) }

// Look adds what it takes to describe what has a name.
func (x *Costs) Look(name []byte) { x.at(name).looks++ }

// Visit adds what it takes to visit the arrays of what has a name.
func (x *Costs) Visit(name []byte) { x.at(name).visits++ }

// Free notes that a command may remove what has a name.
func (x *Costs) Free(name []byte) {
	x.sum += freeBytes
	x.at(name).frees++
}

// Users adds what it takes to describe all users, Clients to describe all clients.
func (x *Costs) Users() { x.Bytes(slowBytes + len(x.e.Users.All())*userBytes) }

// Clients is like Users.
func (x *Costs) Clients() { x.Bytes(slowBytes + len(x.e.host.Sessions())*userBytes) }

// FreeAll notes that a command may remove what all names stand for.
func (x *Costs) FreeAll() {
	x.sum += slowBytes
	x.flushes++
}

// Make notes that a command may give a name to what a record makes.
func (x *Costs) Make(name []byte, b store.Body) { x.make(x.at(name), b) }

func (x *Costs) make(e *extent, b store.Body) {
	e.makes++
	if n := len(e.made); n > 0 && makesSame(e.made[n-1], b) {
		return
	}
	x.sum += madeBytes
	e.made = append(e.made, b)
}

// makesSame reports whether two records make filters of the same parameters.
func makesSame(a, b store.Body) bool {
	switch a := a.(type) {
	case *store.MakeBloom:
		o, ok := b.(*store.MakeBloom)
		return ok && o.Params == a.Params
	case *store.MakeCuckoo:
		o, ok := b.(*store.MakeCuckoo)
		return ok && o.Params == a.Params
	}
	return false
}

// Reveal notes that a command may give a name to a staged filter.
func (x *Costs) Reveal(name []byte, id uint64) {
	e := x.at(name)
	e.staged = append(e.staged, id)
	e.frees++
}

// Store notes that a command may give a name to a string of n bytes.
func (x *Costs) Store(name []byte, n int) {
	e := x.at(name)
	e.text = max(e.text, uint64(n))
	e.frees++
}

// Append notes that a command copies the string of a name to make it longer by n
// bytes.
func (x *Costs) Append(name []byte, n int) {
	e := x.at(name)
	e.appended = plus(e.appended, uint64(n))
	e.texts++
}

// Same notes that one name may get what the other one has.
func (x *Costs) Same(a, b []byte) {
	e, o := x.at(a), x.at(b)
	if e == o {
		return
	}
	if len(e.names)+len(e.made) < len(o.names)+len(o.made) {
		e, o = o, e // the smaller one is moved
	}
	x.last = nil
	e.names, e.made, e.staged = append(e.names, o.names...), append(e.made, o.made...), append(e.staged, o.staged...)
	e.adding.Items += o.adding.Items
	e.adding.Hashes += o.adding.Hashes
	e.adding.Deletes += o.adding.Deletes
	e.items, e.wholes, e.looks = e.items+o.items, e.wholes+o.wholes, e.looks+o.looks
	e.visits, e.frees, e.makes = e.visits+o.visits, e.frees+o.frees, e.makes+o.makes
	e.rows, e.adds = plus(e.rows, o.rows), e.adds+o.adds
	e.text, e.appended, e.texts = max(e.text, o.text), plus(e.appended, o.appended), e.texts+o.texts
	*o = extent{in: e}
}

// Names adds a walk over n names at most, for a call that has a pattern among its
// arguments.
func (x *Costs) Names(n int, args [][]byte) {
	pattern := 0
	for _, a := range args {
		pattern += len(a)
	}
	n = min(max(n, 0), x.e.state.Names.Len()+len(x.names))
	x.Bytes(n * nameBytes)
	x.Bytes(pattern * elementBytes)
	x.matched = plus(x.matched, times(uint64(n), uint64(matchBytes+pattern/patternBytes+x.s.matching())))
}

// Readable adds what it takes to find out which names the user may read. One who may read
// all of them need not.
func (x *Costs) Readable() {
	if !x.s.Rights().All() {
		x.Names(math.MaxInt, nil)
	}
}

// nameLength returns how long a name is on average, those included that commands make.
func (x *Costs) nameLength() uint64 {
	return uint64((x.e.state.Names.NameBytes() + x.own) / max(1, x.e.state.Names.Len()+len(x.names)))
}

// Ask adds items that are looked for under every name that matches. Each filter may hash
// them in its own way.
func (x *Costs) Ask(items, args [][]byte) {
	x.Names(math.MaxInt, args)
	x.asked += uint64(len(items))
	for _, item := range items {
		x.askedBytes += uint64(len(item))
	}
}

// Describe adds what it takes to describe everything that has a name.
func (x *Costs) Describe(args [][]byte) {
	x.Names(math.MaxInt, args)
	x.looks++
}

// total returns what everything costs; beyond most it may be less.
func (x *Costs) total(most uint64) uint64 {
	sum := plus(x.sum, uint64(len(x.s.watches))*wordBytes)
	sum = plus(sum, times(x.matched, x.nameLength()))
	for _, e := range x.all {
		if e.in != nil {
			continue // it is a part of another
		}
		if sum = plus(sum, x.of(e, most)); sum > most {
			return sum
		}
	}
	if x.asked == 0 && x.looks == 0 {
		return sum
	}
	for cursor, more := uint64(0), true; more && sum <= most; more = cursor != 0 {
		const few = 128
		cursor = x.e.state.Names.Scan(cursor, few, x.s.ms, func(v catalog.View) {
			if v.Entry.Kind != catalog.String {
				sum = plus(sum, x.everywhere(store.SizeOf(v.Entry, store.Adding{})))
			}
		})
	}
	return sum
}

// everywhere returns what commands on all names cost for one of them.
func (x *Costs) everywhere(size store.Size) uint64 {
	return plus(size.Parts*partBytes+x.askedBytes, plus(times(x.asked, size.Item), times(x.looks, size.Look+lookBytes)))
}

// of returns what a transaction does to one extent.
func (x *Costs) of(e *extent, most uint64) uint64 {
	a := e.adding
	a.Filters, a.Most = x.e.Settings.MaxExpansions(), most
	var size, made store.Size
	text, free, rights := e.text, true, uint64(0)
	for _, name := range e.names {
		entry := x.e.state.Names.Lookup([]byte(name), x.s.ms)
		rights = max(rights, x.toForget(entry)*uint64(len(name)))
		if entry != nil {
			size, text, free = size.Max(x.both(entry, a)), max(text, uint64(len(store.Text(entry)))), false
		}
	}
	for _, b := range e.made {
		made = made.Max(store.NewSize(b, a))
	}
	for _, id := range e.staged {
		if entry := x.e.state.Names.ByID(id); entry != nil {
			size = size.Max(store.SizeOf(entry, a))
		}
	}
	frees := e.frees + x.flushes
	sum := times(min(e.makes, 1+frees), made.Bytes)
	size = size.Max(made)
	sum = plus(sum, plus(size.Grown, size.Arrays*layerBytes+size.Parts*partBytes))
	sum = plus(sum, plus(times(e.wholes, size.Bytes), times(e.items, size.Item)))
	sum = plus(sum, plus(times(e.looks, size.Look), times(e.visits+frees, size.Arrays*arrayBytes)))
	sum = plus(sum, plus(times(e.rows, size.Rows), times(e.adds, rights)))
	sum = plus(sum, 2*times(e.texts, plus(text, e.appended)))
	if free && len(e.made)+len(e.staged) > 0 { // no walk over the names meets it
		sum = plus(sum, x.everywhere(size))
	}
	return sum
}

// toForget returns what a byte of a name takes when something is added to what has it: if
// that forgets items, the patterns of the user are asked for the right to delete. What a
// command of the transaction makes may.
func (x *Costs) toForget(entry *catalog.Entry) uint64 {
	if entry == nil || x.e.state.Forgets(entry) != "" {
		return uint64(x.s.matching())
	}
	return 0
}

// both returns the size of an entry. What is added to a filter that is being rebuilt is
// added to its shadow as well.
func (x *Costs) both(entry *catalog.Entry, a store.Adding) store.Size {
	size := store.SizeOf(entry, a)
	if sh := x.e.state.ShadowOf(entry.ID); sh != nil && a.Items+a.Deletes > 0 {
		second := store.SizeOf(sh.Entry, a)
		size.Item, size.Grown = plus(size.Item, second.Item), plus(size.Grown, second.Grown)
	}
	return size
}

// plus and times stay at a number that is larger than any cost.
const endless = math.MaxInt64 / 8

func plus(a, b uint64) uint64 { return min(a, endless) + min(b, endless) }

func times(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return endless
	}
	return min(lo, endless)
}

// ByWords is the cost of a command that touches little besides its arguments, which are
// counted for every command.
func ByWords(*Costs, *Call) {}

// BySlow is the cost of a command that is about the server, or computes something, and
// takes long.
func BySlow(x *Costs, _ *Call) { x.sum += slowBytes }

// ByKeys returns the cost of a command that does something to each of its keys.
func ByKeys(do func(*Costs, []byte)) func(*Costs, *Call) {
	return func(x *Costs, c *Call) {
		x.cmd.Keys.Each(c.Args, func(i int, _ traits.Key) { do(x, c.Args[i]) })
	}
}

// ByBytes returns the cost of a command that passes over all that its keys stand for, so
// often, and may give one of them what the others have.
func ByBytes(often int) func(*Costs, *Call) {
	return func(x *Costs, c *Call) {
		first := 0
		x.cmd.Keys.Each(c.Args, func(i int, _ traits.Key) {
			if first == 0 {
				first = i
			}
			x.Same(c.Args[first], c.Args[i])
			x.Whole(c.Args[i], often)
		})
	}
}

// ByItems returns the cost of a command whose arguments behind the key are items.
func ByItems(x *Costs, c *Call) {
	x.hashed(c.Args[2:])
	x.Items(c.Args[1], len(c.Args)-2)
}

// Context returns what a handler sees.
func (x *Costs) Context() *Context { return &x.s.ctx }
