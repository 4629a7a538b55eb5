// Package cost adds up what the commands of a transaction touch, before any of them is run:
// all others wait while it runs, so max-transaction bounds it. It knows no command; commands
// say what they do to which names.
package cost

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/effort"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Sum adds up how many bytes the commands of a transaction touch. Commands say what they do
// to which names; how large these are is found out at the end, when nothing can change any
// more. Make it with New.
//
// A name has the largest size that it may have at any time of the transaction: that
// which it has now, or which a command of the transaction gives it, with all items that
// are added to it. So the order of commands does not matter, and whether they succeed
// does not either.
type Sum struct {
	from  Source
	sum   uint64
	names map[string]*extent
	all   []*extent // in the order in which they were met, so that sums do not depend on that of a map
	last  *extent   // of the name that was met last
	name  string

	adding    int              // items that are added to all names
	untouched []*contents.Part // see Pages
	loose     []*contents.Part // see Pages
	shown     uint64           // small pages of these that may be shown
	below     map[*extent]*layer
	unnamed   map[string]*extent // of filters below layers that no command names

	asked      uint64 // items that are asked for under all names
	askedBytes uint64 // of these items
	looks      uint64 // how often all names are described
	flushes    uint64 // how often all names are removed

	own     int    // bytes of the names that commands name
	matched uint64 // what a byte of an average name takes to be matched, for all names

	letters uint64 // bytes of all words, as far as they may be names
	rights  uint64 // what one of these takes if it is found out again whether it may be used
	crowd   *crowd

	ruled    map[string]ruled // what rules of the transaction add to a user
	ruledAll uint64           // and what it takes to describe that for all users
}

// Source is where it is found out how large names are, and who asks.
type Source struct {
	State    *store.State
	Settings *session.Settings
	Users    *session.Users
	Client   *session.Client // whose transaction it is
	Clients  func() int      // how many there are
	Now      func() int64    // in milliseconds since 1970
	Watched  int             // names that the transaction depends on; one of many parts counts for several
}

// New returns the sum of no command.
func New(from Source) *Sum { return &Sum{from: from, sum: uint64(from.Watched) * watchBytes} }

// extent is what a transaction does to a name, or to several which may become each
// other.
type extent struct {
	in     *extent // it has become a part of this one
	names  []string
	made   []store.Body // what commands make of it
	staged []uint64
	adding effort.Adding

	items, wholes, looks uint64
	asks                 uint64 // calls that look for items
	visits, frees, makes uint64 // how often arrays are visited, let go, made
	records              uint64 // how often every part is changed by a record of its own
	rows                 uint64 // what every row of a sketch takes for the items
	adds                 uint64 // calls that add items

	text, appended, texts uint64 // of strings: the longest, what is appended, how often they are copied
	writes                uint64 // how often they are written
	named                 bool   // a string may get a name that is free
	clears                bool   // what has a name may be emptied
}

// layer is a filter that layers are over. Many may be over the same one, which is looked at once.
type layer struct {
	item    uint64 // what one item touches
	sought  int
	entries []*catalog.Entry
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
	pieceBytes = 1 << 10  // a part that is changed by a record of its own
	watchBytes = 3 << 8   // a watched key
	madeBytes  = 16 << 10 // something that is made
	freeBytes  = 12 << 10 // a name that is removed
	namedBytes = 3 << 10  // a free name that a string gets
	askBytes   = 3 << 10  // a layer that is asked, besides its items
	againBytes = 3 << 9   // a string that is written under a name that is not free
	countBytes = 512      // a number that is counted up: it is read and written
	whenBytes  = 2 << 10  // a deadline that comes with it
	userBytes  = 16 << 10 // a user or a client that is described
	ruleBytes  = 512      // a rule of a user

	matchBytes   = 24  // a byte of a name that is compared with a short pattern
	patternBytes = 16  // so many bytes of a longer pattern count for one more
	elementBytes = 512 // a byte of a pattern that is compiled
	hashedBytes  = 8   // a byte of a name that is looked up for each call

	tryBytes  = 16      // an increment that may have to wear down the count of another item
	unitBytes = 1 << 10 // of max-transaction
)

const textCost = "EXECABORT Transaction discarded: its commands count for %d KiB or more, and max-transaction allows %d KiB: " +
	"all other clients would wait while they run. Send them without MULTI (redis-py: pipeline(transaction=False)), " +
	"or in several smaller transactions"

// TooMuch returns why a transaction is refused, "" if it is not. Its figures are in the unit of
// the setting, so that they always differ.
func (x *Sum) TooMuch() string {
	most := uint64(x.from.Settings.MaxTransaction.Load())
	if n := x.total(most * unitBytes); n > most*unitBytes {
		return fmt.Sprintf(textCost, (n-1)/unitBytes+1, most)
	}
	return ""
}

// Words adds the words of a call, its name included.
func (x *Sum) Words(args [][]byte) {
	for _, a := range args {
		x.sum += wordBytes + uint64(min(len(a), store.Long))
		x.letters += uint64(min(len(a), store.MaxName))
	}
}

// Hashed adds the rest of long items: they are hashed as a whole.
func (x *Sum) Hashed(items [][]byte) {
	for _, item := range items {
		x.sum += uint64(len(item) - min(len(item), store.Long))
	}
}

// at returns the extent of a name.
func (x *Sum) at(name []byte) *extent {
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
func (x *Sum) Bytes(n int) { x.sum = plus(x.sum, uint64(n)) }

// Slow adds what a command costs that is about the server and takes long.
func (x *Sum) Slow() { x.sum += slowBytes }

// Items adds n items that are looked for in what has a name.
func (x *Sum) Items(name []byte, n int) {
	e := x.at(name)
	e.items += uint64(n)
	e.asks++
}

// Add adds items that are added to what has a name.
func (x *Sum) Add(name []byte, items [][]byte) {
	x.Hashed(items)
	e := x.at(name)
	e.items += uint64(len(items))
	e.adding.Items += len(items)
}

// Whole adds all bytes of the filter or sketch of a name, so often.
func (x *Sum) Whole(name []byte, times int) { x.at(name).wholes += uint64(times) }

// Clear adds what it takes to empty a filter or sketch: what is added to it or looked for then lies in new arrays.
func (x *Sum) Clear(name []byte) {
	x.Whole(name, 4)
	x.at(name).clears = true
}

// Look adds what it takes to describe what has a name.
func (x *Sum) Look(name []byte) { x.at(name).looks++ }

// Visit adds what it takes to visit the arrays of what has a name.
func (x *Sum) Visit(name []byte) { x.at(name).visits++ }

// Change counts a record for every part of what a name stands for.
func (x *Sum) Change(name []byte) { x.at(name).records++ }

// Seek notes that n items are looked for in all arrays of what has a name.
func (x *Sum) Seek(name []byte, n int) { x.at(name).adding.Seeks += n }

// Delete adds n items that are deleted from what has a name.
func (x *Sum) Delete(name []byte, n int) { x.at(name).adding.Deletes += n }

// Insert adds a call that adds n items to the filter of a name, so many of them with a hash
// of its own.
func (x *Sum) Insert(name []byte, n, hashes int) {
	e := x.at(name)
	e.adds++
	e.adding.Items += n
	e.adding.Hashes += hashes
}

// Count adds n items that are counted in the sketch of a name.
func (x *Sum) Count(name []byte, n int) { x.at(name).adding.Items += n }

// Row adds n bytes for every row of the sketch of a name.
func (x *Sum) Row(name []byte, n uint64) {
	e := x.at(name)
	e.rows = plus(e.rows, n)
}

// Try adds n increments in every row of the sketch of a name that may have to wear down the
// count of another item.
func (x *Sum) Try(name []byte, n uint64) { x.Row(name, times(n, tryBytes)) }

// Free notes that a command may remove what has a name.
func (x *Sum) Free(name []byte) {
	x.sum += freeBytes
	x.at(name).frees++
}

// FreeAll notes that a command may remove what all names stand for.
func (x *Sum) FreeAll() {
	x.sum += slowBytes
	x.flushes++
}

// Makes reports whether a command may make what has a name.
func (x *Sum) Makes(name []byte) bool { return len(x.at(name).made) > 0 }

// Make notes that a command may give a name to what a record makes.
func (x *Sum) Make(name []byte, b store.Body) {
	e := x.at(name)
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
func (x *Sum) Reveal(name []byte, id uint64) {
	e := x.at(name)
	e.staged = append(e.staged, id)
	e.frees++
}

// Store notes that a command may give a name to a string of n bytes.
func (x *Sum) Store(name []byte, n int) {
	e := x.at(name)
	e.text = max(e.text, uint64(n))
	e.named = true
	e.writes++
	e.frees++
}

// Deadline adds what it takes to give a string a deadline.
func (x *Sum) Deadline() { x.sum += whenBytes }

// Number notes that a command counts a number up or down, and may give it a free name.
func (x *Sum) Number(name []byte) {
	x.sum += countBytes
	e := x.at(name)
	e.named = true
	e.writes++
}

// Text notes that a command may copy the string of a name: the log gets a copy, too.
func (x *Sum) Text(name []byte) { x.at(name).texts++ }

// Append notes that a command copies the string of a name to make it longer by n
// bytes, or gives it one.
func (x *Sum) Append(name []byte, n int) {
	e := x.at(name)
	e.named = true
	e.appended = plus(e.appended, uint64(n))
	e.texts++
	e.writes++
}

// Same notes that one name may get what the other one has.
func (x *Sum) Same(a, b []byte) {
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
	e.adding.Seeks += o.adding.Seeks
	e.items, e.wholes, e.looks, e.asks = e.items+o.items, e.wholes+o.wholes, e.looks+o.looks, e.asks+o.asks
	e.visits, e.frees, e.makes = e.visits+o.visits, e.frees+o.frees, e.makes+o.makes
	e.records += o.records
	e.rows, e.adds = plus(e.rows, o.rows), e.adds+o.adds
	e.text, e.appended, e.texts = max(e.text, o.text), plus(e.appended, o.appended), e.texts+o.texts
	e.named, e.writes = e.named || o.named, e.writes+o.writes
	e.clears = e.clears || o.clears
	*o = extent{in: e}
}

// Names adds a walk over n names at most, for a call that has a pattern among its
// arguments.
func (x *Sum) Names(n int, args [][]byte) {
	pattern := 0
	for _, a := range args {
		pattern += len(a)
	}
	n = min(max(n, 0), x.from.State.Names.Len()+len(x.names))
	x.Bytes(n * nameBytes)
	x.Bytes(pattern * elementBytes)
	x.matched = plus(x.matched, times(uint64(n), uint64(matchBytes+pattern/patternBytes)+Patterns(x.from.Client.Rights())))
}

// Match adds what it takes to compile patterns and to compare n short words with each of them.
func (x *Sum) Match(patterns [][]byte, n int) {
	const letters = 24
	for _, p := range patterns {
		x.sum = plus(x.sum, times(uint64(len(p)), elementBytes))
		x.sum = plus(x.sum, times(uint64(n*letters), uint64(matchBytes+len(p)/patternBytes)))
	}
}

// nameLength returns how long a name is on average, those included that commands make.
func (x *Sum) nameLength() uint64 {
	return uint64((x.from.State.Names.NameBytes() + x.own) / max(1, x.from.State.Names.Len()+len(x.names)))
}

// Ask adds items that are looked for under every name that matches. Each filter may hash
// them in its own way.
func (x *Sum) Ask(items, args [][]byte) {
	x.Names(math.MaxInt, args)
	x.asked += uint64(len(items))
	for _, item := range items {
		x.askedBytes += uint64(len(item))
	}
}

// Describe adds what it takes to describe everything that has a name.
func (x *Sum) Describe(args [][]byte) {
	x.Names(math.MaxInt, args)
	x.looks++
}

// total returns what everything costs; beyond most it may be less.
func (x *Sum) total(most uint64) uint64 {
	sum := plus(x.sum, plus(times(x.matched, x.nameLength()), times(x.letters, x.rights)))
	x.adding, x.untouched, x.loose, x.shown, x.below = 0, nil, nil, 0, nil
	for _, e := range x.all {
		x.adding += e.adding.Items
	}
	for _, e := range x.all {
		if e.in != nil {
			continue // it is a part of another
		}
		if sum = plus(sum, x.of(e, most)); sum > most {
			return sum
		}
	}
	for _, l := range x.below {
		for _, entry := range l.entries {
			x.meet(entry, 0, l.sought)
		}
	}
	if x.asked == 0 && x.looks == 0 {
		return sum
	}
	for cursor, more := uint64(0), true; more && sum <= most; more = cursor != 0 {
		const few = 128
		cursor = x.from.State.Names.Scan(cursor, few, x.from.Now(), func(v catalog.View) {
			if v.Entry.Kind != catalog.String {
				sum = plus(sum, x.everywhere(contents.SizeOf(v.Entry, effort.Adding{})))
				x.meet(v.Entry, 0, int(x.asked))
			}
		})
	}
	return sum
}

// everywhere returns what commands on all names cost for one of them.
func (x *Sum) everywhere(size effort.Size) uint64 {
	return plus(size.Parts*partBytes+x.askedBytes, plus(times(x.asked, size.Item), times(x.looks, size.Look+lookBytes)))
}

// of returns what a transaction does to one extent.
func (x *Sum) of(e *extent, most uint64) uint64 {
	a := e.adding
	a.Most, a.Seeks = most, a.Seeks+int(x.asked)
	text, free, rights, named := e.text, true, uint64(0), uint64(0)
	size := x.size(e, a, func(name string, entry *catalog.Entry) {
		rights = max(rights, x.toForget(entry)*uint64(len(name)))
		if entry != nil {
			text, free = max(text, uint64(len(store.Text(entry)))), false
			x.meet(entry, a.Items, a.Seeks)
		} else if e.named {
			named += namedBytes
		}
	})
	if e.clears {
		const places = 64
		size.Grown = plus(size.Grown, effort.Written(size.Bytes, a, places))
	}
	frees := e.frees + x.flushes
	named += (e.writes - min(e.writes, named/namedBytes)) * againBytes
	sum := plus(named, times(min(e.makes, uint64(len(e.names))+frees), size.made))
	if e.items > 0 {
		item, ask, counting := x.layers(size.below, a.Seeks)
		size.Item, sum = plus(size.Item, item), plus(sum, plus(counting, times(e.asks, ask)))
	}
	sum = plus(sum, plus(size.Grown, size.counting))
	sum = plus(sum, plus(times(e.wholes, size.Bytes), times(e.items, size.Item)))
	sum = plus(sum, plus(times(uint64(a.Items+a.Deletes), size.Change), size.Search))
	sum = plus(sum, plus(times(e.looks, size.Look), times(e.visits+frees, size.Arrays*arrayBytes)))
	sum = plus(sum, plus(times(e.rows, size.Rows), times(e.adds, rights)))
	sum = plus(sum, times(e.records, size.Parts*pieceBytes))
	sum = plus(sum, 2*times(e.texts, plus(text, e.appended)))
	if free && len(e.made)+len(e.staged) > 0 { // no walk over the names meets it
		sum = plus(sum, x.everywhere(size.Size))
	}
	return sum
}

// size is what is known of an extent.
type size struct {
	effort.Size          // the largest that it has when something was added to it
	made        uint64   // the most bytes that a command makes for it before that
	below       []string // names of filters that it is layers over
	counting    uint64   // what it takes to find this out
}

// meets takes the size of one of those that have a name one after the other: each may grow.
func (s *size) meets(o effort.Size, below []string) {
	grown := plus(s.Grown, o.Grown)
	s.Size, s.below = s.Max(o), append(s.below, below...)
	s.Grown = grown
	s.counting = plus(s.counting, o.Arrays*layerBytes+o.Parts*partBytes)
}

// size returns the size of an extent. It shows every name with its entry, which may be nil.
func (x *Sum) size(e *extent, a effort.Adding, show func(string, *catalog.Entry)) (s size) {
	a.Filters = x.from.Settings.MaxExpansions()
	for _, name := range e.names {
		entry := x.from.State.Names.Lookup([]byte(name), x.from.Now())
		if show(name, entry); entry != nil {
			s.meets(x.both(entry, a), contents.LayersOf(entry))
		}
	}
	again := min(e.makes, uint64(len(e.names))+e.frees+x.flushes)
	for _, b := range e.made {
		o := store.NewSize(b, a)
		if o.Bytes >= effort.LargeMade {
			o.Item *= 2 // the processor looks for each of many small pages
		}
		o.Grown = times(again, o.Grown)
		s.meets(o, store.NewLayers(b))
		s.made = max(s.made, store.NewSize(b, effort.Adding{}).Bytes) // growth counts for what is written to it
	}
	for _, id := range e.staged {
		if entry := x.from.State.Names.ByID(id); entry != nil {
			x.meet(entry, a.Items, a.Seeks)
			s.meets(contents.SizeOf(entry, a), contents.LayersOf(entry))
		}
	}
	return s
}

// layers returns what an item touches in the filters of these names, what each call takes to find them and the right to ask
// them, and what it takes to find that out.
func (x *Sum) layers(names []string, sought int) (item, ask, counting uint64) {
	counting = uint64(len(names)) * arrayBytes
	rights := Patterns(x.from.Client.Rights())
	for _, name := range names {
		ask = plus(ask, askBytes+times(uint64(len(name)), hashedBytes+rights))
		e := x.known(name)
		l := x.below[e]
		if l == nil {
			l = &layer{}
			s := x.size(e, effort.Adding{}, func(_ string, entry *catalog.Entry) {
				if entry != nil {
					l.entries = append(l.entries, entry)
				}
			})
			if l.item, counting = s.Item, plus(counting, s.counting); x.below == nil {
				x.below = map[*extent]*layer{}
			}
			x.below[e] = l
		}
		l.sought += sought
		item = plus(item, l.item)
	}
	return item, ask, counting
}

// known returns the extent of a name, which no command may have named.
func (x *Sum) known(name string) *extent {
	e := x.names[name]
	if e == nil {
		if e = x.unnamed[name]; e != nil {
			return e
		}
		if e = (&extent{names: []string{name}}); x.unnamed == nil {
			x.unnamed = map[string]*extent{}
		}
		x.unnamed[name] = e
	}
	for e.in != nil {
		e = e.in
	}
	return e
}

// toForget returns what a byte of a name takes when something is added to what has it: if
// that forgets items, the patterns of the user are asked for the right to delete. What a
// command of the transaction makes may.
func (x *Sum) toForget(entry *catalog.Entry) uint64 {
	if entry == nil || x.from.State.Forgets(entry) != "" {
		return Patterns(x.from.Client.Rights())
	}
	return 0
}

// Pages returns the parts to which the transaction adds many items and whose pages may have to be made
// first, and those in which it looks for many and which may lie on small pages: see [contents.Part.Touch] and
// [contents.Part.Gather]. It is what TooMuch has met when it was called last.
func (x *Sum) Pages() (untouched, loose []*contents.Part) {
	const few = 4 << 10 // pages that are shown in some milliseconds
	if x.shown <= few {
		return x.untouched, nil
	}
	return x.untouched, x.loose
}

// meet notes the parts of an entry, and of its shadow if items are added to it, whose pages have to be made or moved first.
func (x *Sum) meet(entry *catalog.Entry, added, sought int) {
	for _, p := range contents.Parts(entry) {
		if added > 0 && p.Untouched() && x.adding > p.FewItems() {
			x.untouched = append(x.untouched, p)
		} else if pages := p.Shown(uint64(sought)); pages > 0 {
			x.loose, x.shown = append(x.loose, p), plus(x.shown, pages)
		}
	}
	if sh := x.from.State.ShadowOf(entry.ID); sh != nil && added > 0 {
		x.meet(sh.Entry(), added, 0)
	}
}

// both returns the size of an entry. What is added to a filter that is being rebuilt is
// added to its shadow as well.
func (x *Sum) both(entry *catalog.Entry, a effort.Adding) effort.Size {
	size := contents.SizeOf(entry, a)
	if sh := x.from.State.ShadowOf(entry.ID); sh != nil && a.Items+a.Deletes > 0 {
		second := contents.SizeOf(sh.Entry(), a)
		size.Item, size.Grown = plus(size.Item, second.Item), plus(size.Grown, second.Grown)
		size.Change, size.Search = plus(size.Change, second.Change), plus(size.Search, second.Search)
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
