package where

// What FILTER.WHERE has found.

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// whereRow is a filter and the items that it may contain: few of them by their numbers,
// many as one bit for each item. A reply takes a hundred times as much, so it is made
// when its length is known.
type whereRow struct {
	name string
	few  []uint32
	many []uint64
}

// rowBytes is what a row takes besides its items, with room for a list that grows.
const rowBytes = 160

// note keeps what a filter has answered that may contain items.
func (s *seeker) note(name string) {
	n := 0
	for _, found := range s.found {
		if found {
			n++
		}
	}
	row := whereRow{name: name}
	words := (len(s.found) + 63) / 64
	if few := n <= words; few && s.take(rowBytes+4*n) {
		row.few = make([]uint32, 0, n)
	} else if !few && s.take(rowBytes+8*words) {
		row.many = make([]uint64, words)
	} else {
		return
	}
	for i, found := range s.found {
		switch {
		case !found:
		case row.many == nil:
			row.few = append(row.few, uint32(i))
		default:
			row.many[i/64] |= 1 << (i % 64)
		}
	}
	s.rows = append(s.rows, row)
}

// each calls f with the number of every item of a row.
func (r *whereRow) each(f func(i int)) {
	for _, i := range r.few {
		f(int(i))
	}
	for at, word := range r.many {
		for ; word != 0; word &= word - 1 {
			f(64*at + bits.TrailingZeros64(word))
		}
	}
}

// reply makes the reply, if there is room for it. A name that a scan has met twice is
// there once.
func (s *seeker) reply() answer.Reply {
	slices.SortFunc(s.rows, func(a, b whereRow) int { return cmp.Compare(a.name, b.name) })
	s.rows = slices.CompactFunc(s.rows, func(a, b whereRow) bool { return a.name == b.name })
	const aside = 4 + 24 // a count, and where the list of an item is
	if !s.take(aside * len(s.items)) {
		return answer.Fail(answer.TextOOM)
	}
	counts, total, size := make([]uint32, len(s.items)), 0, 0
	for i := range s.rows {
		s.rows[i].each(func(i int) {
			counts[i]++
			total++
		})
	}
	for _, item := range s.items {
		size += 2*answer.ReplyBytes + len(item)
	}
	if !s.take(size + answer.ReplyBytes*total) {
		return answer.Fail(answer.TextOOM)
	}
	names, lists := make([]answer.Reply, total), make([][]answer.Reply, len(s.items))
	for i, n := range counts {
		lists[i], names = names[:0:n], names[n:]
	}
	for i := range s.rows {
		name := answer.Text(s.rows[i].name)
		s.rows[i].each(func(i int) { lists[i] = append(lists[i], name) })
	}
	pairs := make([]answer.Reply, 0, 2*len(s.items))
	for i, item := range s.items {
		pairs = append(pairs, answer.Text(string(item)), answer.List(lists[i]...))
	}
	return answer.Pairs(pairs...)
}

// assembleWhere puts the names together that nodes have found, of those that the user may read. Behind them stands an
// error for each filter that no node could be asked for: whether it has the item is not known.
func assembleWhere(x *engine.Context, c *engine.Call, parts []answer.Reply) answer.Reply {
	items := c.Args[2:]
	lost, ok := lostFilters(x, string(c.Args[1]), len(items))
	if !ok {
		return answer.Fail(answer.TextOOM)
	}
	pairs := make([]answer.Reply, 0, 2*len(items))
	for i, item := range items {
		var names []answer.Reply
		for _, r := range parts {
			if at := 2*i + 1; at < len(r.Elems) {
				names = append(names, r.Elems[at].Elems...)
			}
		}
		names = slices.DeleteFunc(names, func(r answer.Reply) bool { return !x.Names().Readable(r.Text) })
		slices.SortFunc(names, func(a, b answer.Reply) int { return cmp.Compare(a.Text, b.Text) })
		names = slices.CompactFunc(names, func(a, b answer.Reply) bool { return a.Text == b.Text })
		found := len(names)
		for _, v := range lost {
			if text := v.lacks(x, item); text != "" && !slices.ContainsFunc(names[:found], func(r answer.Reply) bool { return r.Text == v.name }) {
				names = append(names, answer.Fail(text))
			}
		}
		pairs = append(pairs, answer.Text(string(item)), answer.List(names...))
	}
	return answer.Pairs(pairs...)
}

// lostFilter is a filter of which parts could not be asked.
type lostFilter struct {
	name  string
	entry *catalog.Entry
}

// lacks returns the error that says that an item could not be asked for, "" if it could: its part was asked.
func (v lostFilter) lacks(x *engine.Context, item []byte) string {
	why := x.Contents().Lost(v.entry)
	if n := contents.PartCount(v.entry); n > 1 {
		if h, usable := contents.PartOf(v.entry).Hasher(); usable {
			why = x.Contents().LostPart(contents.PartAt(v.entry, uint32(bloomery.Route(h.Hash(item), uint(bits.Len(uint(n)-1))))))
		}
	}
	if why == "" {
		return ""
	}
	return lostText(why, v.name)
}

// lostText is the error that says why a filter could not be asked.
func lostText(why, name string) string { return fmt.Sprintf("%s: %s", why, answer.Clip([]byte(name))) }

// lostFilters returns the filters among those that match a pattern which could not be asked, in the order of their
// names. It reports false if there is no memory for errors of each item.
func lostFilters(x *engine.Context, pattern string, items int) (list []lostFilter, ok bool) {
	if x.Contents().Lost(nil) == "" {
		return nil, true
	}
	match := matcher(pattern)
	var seen []catalog.View
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		cursor = x.Names().Scan(cursor, whereNames, &seen)
		for _, v := range seen {
			if !contents.IsFilter(v.Entry) || !match(v.Name) || !x.Names().Readable(v.Name) {
				continue
			}
			if why := x.Contents().Lost(v.Entry); why != "" {
				if !x.Hold(rowBytes + items*(answer.ReplyBytes+len(lostText(why, v.Name)))) {
					return nil, false
				}
				list = append(list, lostFilter{v.Name, v.Entry})
			}
		}
	}
	slices.SortFunc(list, func(a, b lostFilter) int { return cmp.Compare(a.name, b.name) })
	return slices.Compact(list), true
}
