package engine

// Calls whose items lie at several machines.

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/scratch"
)

// whole is a call whose items lie at several machines. Each of them runs a call of its own, of
// the items that it holds.
type whole struct {
	call  *Call
	parts []*passing
}

const (
	textFewer = "ERR another node has answered for fewer items"
	// mostSplit is how many bytes of items, about, a part of a call has.
	mostSplit = 512 << 10
	// mostLooked is how many items are hashed before they are looked at.
	mostLooked = 256
	// fewLooked is how many are hashed first.
	fewLooked = 8
	// mostDivided is for how many items memory is kept.
	mostDivided = 16 << 10
)

// splits reports whether a call can be split by the parts of a filter.
func splits(c *Call, entry *catalog.Entry) bool {
	return c.cmd.Split != nil && entry.Kind == catalog.Filter && contents.PartCount(entry) > 1
}

// division is the memory of splitting calls. It is used again.
type division struct {
	hashes []uint64 // of the items
	parts  []uint32 // in which part of the filter they lie, then which way they go
	places []place  // of each part of the filter
	used   []uint32 // the parts whose places are set
	ways   []way    // of the call that is being split
	filter uint64   // whose lanes these are, by part
	lanes  []int

	// Of all calls, until they are answered: which items parts of them are about, what those are encoded in, and
	// hashes as arguments.
	items []uint32
	bytes []byte
	args  [][]byte
}

// place is where a part of a filter lies.
type place struct {
	nodes []uint32 // none for this machine
	lane  int
	call  int // the last call that has items in it, from 1 on; 0 if the place is not set
	way   int // that they go
}

// way is the part of a call for one machine, while its items are counted.
type way struct {
	passing
	items, bytes int
	more         int // the way for items that come later, 0 if there is none
}

// itemParts returns in which parts of a filter items of a call lie, nil if that is not known
// here. They hold until the next call.
func (v *division) itemParts(c *Call, entry *catalog.Entry, items [][]byte) []uint32 {
	v.hashes, v.parts = slices.Grow(v.hashes[:0], len(items))[:len(items)], slices.Grow(v.parts[:0], len(items))[:len(items)]
	switch {
	case !c.Hashed():
		if !c.cmd.Split(contents.PartOf(entry), items, v.hashes) {
			return nil
		}
	case c.filter != entry.ID:
		return nil
	default:
		for i, item := range items {
			v.hashes[i] = Hash(item)
		}
	}
	log := uint(bits.Len(uint(contents.PartCount(entry))) - 1)
	for i, h := range v.hashes {
		v.parts[i] = uint32(bloomery.Route(h, log))
	}
	return v.parts
}

// itemsFar reports whether items of calls lie in parts that this machine does not answer for. What
// cannot be split is answered by any machine: it is an error.
func (e *Engine) itemsFar(s *Session, calls []Call, entry *catalog.Entry) bool {
	for i := range calls {
		few := fewLooked // most calls of items that lie elsewhere begin with one of them
		for items := calls[i].Args[2:]; len(items) > 0; few = mostLooked {
			few = min(few, len(items))
			for _, p := range s.w.division.itemParts(&calls[i], entry, items[:few]) {
				if !e.state.Answers(contents.PartAt(entry, p)) {
					return true
				}
			}
			items = items[few:]
		}
	}
	return false
}

// split divides calls by the machines that hold their items; those of this one have no machines.
// It returns why that cannot be done, and none if it is not known where their items lie.
func (e *Engine) split(s *Session, calls []Call, entry *catalog.Entry) (all []*passing, text string) {
	v := &s.w.division
	n := contents.PartCount(entry)
	v.places = slices.Grow(v.places[:0], n)[:n]
	defer v.forget()
	if v.filter != entry.ID || len(v.lanes) != n {
		v.filter, v.lanes = entry.ID, v.lanes[:0]
		for part := range uint32(n) {
			v.lanes = append(v.lanes, e.shared.LaneOf(entry.ID, part))
		}
	}
	for i := range calls {
		c := &calls[i]
		v.ways = v.ways[:0]
		parts := v.itemParts(c, entry, c.Args[2:])
		if parts == nil {
			return nil, ""
		}
		for item, part := range parts {
			p := &v.places[part]
			if p.call != i+1 {
				if text := e.goes(s, entry, part, i+1, c.looks > 0); text != "" {
					return nil, text
				}
			}
			size := hashBytes
			if !c.cmd.ByHash {
				size = len(c.Args[2+item]) + binary.MaxVarintLen32
			}
			w := &v.ways[p.way]
			if w.bytes > mostSplit {
				w = v.further(p)
			}
			w.items++
			w.bytes += size
			parts[item] = uint32(p.way)
		}
		if len(v.ways) == 1 { // all of it lies at one machine
			p := v.ways[0].passing
			p.calls = calls[i : i+1]
			all = append(all, &p)
			continue
		}
		all = append(all, v.divide(c, entry.ID)...)
	}
	return all, ""
}

// goes says which way items in a part of a filter go, of the call with a number, which may be asked again. It returns
// why there is none.
func (e *Engine) goes(s *Session, entry *catalog.Entry, part uint32, call int, again bool) string {
	v := &s.w.division
	p := &v.places[part]
	if p.call == 0 {
		q := contents.PartAt(entry, part)
		if !e.state.Answers(q) {
			if p.nodes = e.holders(s, q.Shard()); len(p.nodes) == 0 {
				return fmt.Sprintf(textNoHolder, q.Shard())
			}
		}
		p.lane = v.lanes[part]
		v.used = append(v.used, part)
	}
	p.call = call
	// Whoever is asked anyway is asked for this, too, if it holds it: each machine costs a question. But what was asked
	// in vain is asked of all that hold it, and a way has those only that hold all of it.
	p.way = slices.IndexFunc(v.ways, func(w way) bool {
		if again {
			return slices.Equal(p.nodes, w.nodes)
		}
		return len(p.nodes)+len(w.nodes) == 0 || len(w.nodes) > 0 && slices.Contains(p.nodes, w.nodes[0])
	})
	if p.way < 0 {
		p.way = len(v.ways)
		v.ways = append(v.ways, way{})
	}
	for at := p.way; ; at = v.ways[at].more {
		w := &v.ways[at]
		w.add(p.nodes, p.lane)
		if w.more == 0 {
			return ""
		}
	}
}

// further has items at a place go another way, since theirs has enough, and returns it.
func (v *division) further(p *place) *way {
	w := &v.ways[p.way]
	if w.more == 0 {
		w.more = len(v.ways)
		next := way{passing: w.passing}
		next.lanes = slices.Clone(w.lanes)
		v.ways = append(v.ways, next)
	}
	p.way = v.ways[p.way].more
	if w = &v.ways[p.way]; w.bytes > mostSplit {
		return v.further(p)
	}
	return w
}

// divide makes the parts of a call on a filter whose items are counted. Those for other machines are encoded
// at once.
func (v *division) divide(c *Call, filter uint64) []*passing {
	passed, calls := make([]passing, len(v.ways)), make([]Call, len(v.ways))
	whole, items := &whole{call: c, parts: make([]*passing, len(v.ways))}, scratch.Room(&v.items, len(c.Args)-2, 0)
	head, size := hashedBytes+callSize(c.Args[:2]), 0
	for i := range v.ways {
		size += head + v.ways[i].bytes
	}
	// All bodies are taken together: memory of one of them alone would be too little for the next call.
	bodies := scratch.Room(&v.bytes, size, 0)
	for i := range v.ways {
		w := &v.ways[i]
		calls[i] = Call{Args: c.Args[:2:2], cmd: c.cmd, looks: c.looks}
		p := &passed[i]
		*p = w.passing
		p.whole, p.calls = whole, calls[i:i+1]
		p.items, items = items[:0:w.items], items[w.items:]
		var body []byte
		body, bodies = bodies[:0:head+w.bytes], bodies[head+w.bytes:]
		switch {
		case c.cmd.ByHash && len(p.nodes) > 0:
			p.body = appendHashed(body, filter, c.Args[:2], w.items)
		case c.cmd.ByHash:
			p.body = body
		case len(p.nodes) > 0:
			p.body = appendHead(body, c.Args[:2], w.items)
		}
		whole.parts[i] = p
	}
	for item, way := range v.parts {
		p := &passed[way]
		p.items = append(p.items, uint32(item))
		switch {
		case c.cmd.ByHash:
			p.body = binary.LittleEndian.AppendUint64(p.body, v.hashes[item])
		case p.body != nil:
			p.body = appendArg(p.body, c.Args[2+item])
		}
	}
	for i := range passed {
		switch p := &passed[i]; {
		case len(p.nodes) > 0:
		case c.cmd.ByHash:
			p.hashItems(filter, scratch.Room(&v.args, 2+len(p.items), 0)[:0])
		default:
			p.unfold()
		}
	}
	return whole.parts
}

// unfold gives the call of a part its items, as they were sent.
func (p *passing) unfold() {
	c, all := &p.calls[0], p.whole.call.Args
	c.Args = append(make([][]byte, 0, 2+len(p.items)), all[:2]...)
	for _, item := range p.items {
		c.Args = append(c.Args, all[2+item])
	}
	c.Items, c.filter, c.answered, p.body = c.Args[2:], 0, false, nil
}

// forget makes the memory ready for other calls.
func (v *division) forget() {
	for _, part := range v.used {
		v.places[part] = place{}
	}
	clear(v.ways)
	v.used, v.ways = v.used[:0], v.ways[:0]
	if cap(v.parts) > mostDivided {
		v.hashes, v.parts = nil, nil
	}
}

// reset forgets calls that are answered.
func (v *division) reset() {
	clear(v.args)
	v.items, v.bytes, v.args = scratch.Emptied(v.items, mostDivided), scratch.Emptied(v.bytes, hashBytes*mostDivided), scratch.Emptied(v.args, mostDivided)
}

// merge answers calls whose parts are answered. A part of a part was begun later.
func (w *Workspace) merge() {
	for i, v := range slices.Backward(w.wholes) {
		if !slices.ContainsFunc(v.parts, func(p *passing) bool { return !p.calls[0].answered }) {
			v.merge(v.call.cmd.writes() || w.joined(v.call))
			w.wholes = slices.Delete(w.wholes, i, i+1)
		}
	}
	for i, v := range slices.Backward(w.joints) {
		if v.one.answered {
			v.share()
			w.joints = slices.Delete(w.joints, i, i+1)
		}
	}
}

// merge answers a call in the order of its items. A read that was not answered for all of them
// is answered by the error; a write, or what is asked in the place of several calls, has errors in the places of its items.
func (v *whole) merge(each bool) {
	c := v.call
	c.waiting = false
	plain, failed := true, 0
	for _, p := range v.parts {
		r := &p.calls[0].Reply
		if r.Failed() {
			failed++
			if failed == len(v.parts) || !each {
				c.Answer(*r)
				return
			}
		}
		plain = plain && r.Kind == answer.Bools && r.Text == "" && len(r.Bools) == len(p.items)
	}
	if plain {
		v.mergeBools()
		return
	}
	elems := make([]answer.Reply, len(c.Args)-2)
	for _, p := range v.parts {
		r := &p.calls[0].Reply
		for j, item := range p.items {
			switch {
			case r.Kind == answer.Bools && j < len(r.Bools):
				elems[item] = answer.Truth(r.Bools[j])
			case r.Kind == answer.Array && j < len(r.Elems):
				elems[item] = r.Elems[j]
			case r.Failed():
				elems[item] = *r
			default:
				elems[item] = answer.Fail(textFewer)
			}
		}
	}
	c.Answer(answer.List(elems...))
}

// mergeBools is merge where each machine has answered a boolean for each item.
func (v *whole) mergeBools() {
	found := make([]bool, len(v.call.Args)-2)
	for _, p := range v.parts {
		bools := p.calls[0].Reply.Bools
		for j, item := range p.items {
			found[item] = bools[j]
		}
	}
	v.call.Answer(answer.Reply{Kind: answer.Bools, Bools: found})
}
