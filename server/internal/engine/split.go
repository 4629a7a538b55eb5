package engine

// Calls whose items lie at several machines.

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// whole is a call whose items lie at several machines. Each of them runs a call of its own, of
// the items that it holds.
type whole struct {
	call  *Call
	parts []*passing
	items [][]int // of each of the parts, as they stand in the call
}

// mostSplit is how many bytes of items, about, a part of a call has.
const mostSplit = 512 << 10

// splits reports whether a call can be split by the parts of a filter.
func splits(c *Call, entry *catalog.Entry) bool {
	return c.cmd.Split != nil && entry.Kind == catalog.Filter && store.PartCount(entry) > 1
}

// itemParts returns in which part of a filter each item of a call lies, nil if that is not
// known here.
func itemParts(c *Call, entry *catalog.Entry) []uint64 {
	items := c.Args[2:]
	parts := make([]uint64, len(items))
	if !c.cmd.Split(store.PartOf(entry), items, parts) {
		return nil
	}
	log := uint(bits.Len(uint(store.PartCount(entry))) - 1)
	for i, h := range parts {
		parts[i] = uint64(bloomery.Route(h, log))
	}
	return parts
}

// itemsFar reports whether items of calls lie in parts that this machine does not answer for. What
// cannot be split is answered by any machine: it is an error.
func (e *Engine) itemsFar(calls []Call, entry *catalog.Entry) bool {
	for i := range calls {
		for _, p := range itemParts(&calls[i], entry) {
			if !e.state.Answers(store.PartAt(entry, uint32(p))) {
				return true
			}
		}
	}
	return false
}

// split divides calls by the machines that hold their items; those of this one have no machines.
// It returns why that cannot be done.
func (e *Engine) split(s *Session, calls []Call, entry *catalog.Entry) (all []*passing, text string) {
	holders := map[uint64][]uint32{}
	for i := range calls {
		v := &whole{call: &calls[i]}
		for item, part := range itemParts(v.call, entry) {
			p := store.PartAt(entry, uint32(part))
			nodes, known := holders[part]
			if !known {
				if !e.state.Answers(p) {
					if nodes = e.holders(s, p.Shard()); len(nodes) == 0 {
						return nil, fmt.Sprintf(textNoHolder, p.Shard())
					}
				}
				holders[part] = nodes
			}
			v.add(item, nodes, e.shared.LaneOf(entry.ID, uint32(part)))
		}
		if len(v.parts) == 1 { // all of it lies at one machine
			v.parts[0].calls, v.parts[0].whole = calls[i:i+1], nil
		}
		all = append(all, v.parts...)
	}
	return all, ""
}

// add adds an item to the part for the machine that is the first to hold it.
func (v *whole) add(item int, nodes []uint32, lane int) {
	args := v.call.Args
	at := len(v.parts) - 1
	for ; at >= 0; at-- { // the last one for the machine may have room
		p := v.parts[at]
		if len(p.nodes) == len(nodes) && len(nodes) == 0 || len(nodes) > 0 && len(p.nodes) > 0 && p.nodes[0] == nodes[0] {
			break
		}
	}
	if at < 0 || callSize(v.parts[at].calls[0].Args) > mostSplit {
		at = len(v.parts)
		v.parts = append(v.parts, &passing{whole: v, calls: []Call{{Args: slices.Clone(args[:2]), cmd: v.call.cmd}}})
		v.items = append(v.items, nil)
	}
	p := v.parts[at]
	p.add(nodes, lane)
	c := &p.calls[0]
	c.Args = append(c.Args, args[2+item])
	c.Items = c.Args[2:]
	v.items[at] = append(v.items[at], item)
}

// merge answers calls whose parts are answered. A part of a part was begun later.
func (w *Workspace) merge() {
	for i, v := range slices.Backward(w.wholes) {
		if !slices.ContainsFunc(v.parts, func(p *passing) bool { return !p.calls[0].answered }) {
			v.merge()
			w.wholes = slices.Delete(w.wholes, i, i+1)
		}
	}
}

// merge answers a call in the order of its items. A read that was not answered for all of them
// is answered by the error; a write has errors in the places of its items.
func (v *whole) merge() {
	c := v.call
	c.waiting = false
	elems, found, plain := make([]answer.Reply, len(c.Args)-2), make([]bool, len(c.Args)-2), true
	failed := 0
	for k, p := range v.parts {
		r := &p.calls[0].Reply
		if r.Failed() {
			failed++
			if failed == len(v.parts) || !c.cmd.writes() {
				c.Answer(*r)
				return
			}
		}
		plain = plain && r.Kind == answer.Bools && r.Text == ""
		for j, item := range v.items[k] {
			switch {
			case r.Kind == answer.Bools && j < len(r.Bools):
				found[item] = r.Bools[j]
				elems[item] = answer.Truth(r.Bools[j])
			case r.Kind == answer.Array && j < len(r.Elems):
				elems[item] = r.Elems[j]
			case r.Failed():
				elems[item] = *r
			default:
				elems[item] = answer.Fail("ERR another node has answered for fewer items")
			}
		}
	}
	if plain {
		c.Answer(answer.Reply{Kind: answer.Bools, Bools: found})
		return
	}
	c.Answer(answer.List(elems...))
}
