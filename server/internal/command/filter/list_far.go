package filter

// FILTER.LIST where nodes hold different contents.

import (
	"encoding/binary"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/health"
)

// Every node has all names, and asks the others for what they know of some of them at a time: so neither
// a question nor an answer grows with the number of filters.
const (
	// listChunk is how many filters are looked at at a time.
	listChunk = 64
	// shareBytes is what a share takes in memory.
	shareBytes = 12 << 10
	// listOf stands in a call to another node, in front of the names that it is about.
	listOf = "\x00of"
	// sketchRow stands in front of the row of a sketch, which only its node can make.
	sketchRow = "row"
)

// found is what is known of a filter or a sketch.
type found struct {
	health.Report
	row answer.Reply // of a sketch at another node, or of what could not be asked for
	ok  bool         // it is not gone
}

// lookAt returns what is known of some filters and sketches, or an error.
func lookAt(x *engine.Context, some []ranked) (list []found, failed answer.Reply) {
	list = make([]found, len(some))
	if !x.Contents().Spread() {
		for i := range some {
			list[i].Report, list[i].ok = peek(x, some[i].entry)
		}
		return list, failed
	}
	var names []byte
	for i := range some {
		names = append(binary.AppendUvarint(names, uint64(len(some[i].name))), some[i].name...)
	}
	size := shareBytes * len(some) * int(x.Contents().Roster().Nodes())
	if !x.Hold(size) {
		return nil, answer.Fail(answer.TextOOM)
	}
	defer x.Unhold(size)
	parts, failed := x.Contents().Gather([][]byte{[]byte("FILTER.LIST"), []byte(listOf), names})
	if failed.Kind != answer.None {
		return nil, failed
	}
	for i := range some {
		if why := x.Contents().Lost(some[i].entry); why != "" {
			list[i] = found{row: answer.Pairs(answer.Text("key"), answer.Text(some[i].name), answer.Text("error"), answer.Text(why)), ok: true}
			continue
		}
		list[i] = foundAt(x, some[i].entry, parts, i)
	}
	return list, failed
}

// foundAt puts together what nodes know of the filter that is i-th of those they were asked for.
func foundAt(x *engine.Context, entry *catalog.Entry, parts []answer.Reply, i int) (v found) {
	var shares []share
	for j := range parts {
		if i >= len(parts[j].Elems) || parts[j].Elems[i].Kind == answer.Null {
			continue
		}
		r := &parts[j].Elems[i]
		shares = append(shares, readShare(r))
		if n := len(r.Elems); n > 1 && r.Elems[n-2].Text == sketchRow {
			v.row = r.Elems[n-1]
		}
	}
	v.Report, _, v.ok = mergeShares(x, entry, shares)
	if len(shares) == 1 { // it has seen more than one look shows
		v.Diagnosis = shares[0].Diagnosis
	}
	return v
}

// runListOf answers another node, which has asked for what is known here of some names.
func runListOf(x *engine.Context, c *engine.Call) {
	names, list := c.Args[2], []answer.Reply(nil)
	for len(names) > 0 {
		n, size := binary.Uvarint(names)
		if size <= 0 || n > uint64(len(names)-size) || len(list) == listChunk {
			c.Fail(answer.TextSyntax)
			return
		}
		name := names[size : size+int(n)]
		names = names[size+int(n):]
		if !x.Hold(shareBytes) {
			c.Fail(answer.TextOOM)
			return
		}
		list = append(list, listShare(x, name))
	}
	c.Answer(answer.List(list...))
}

// listShare returns the share of this node in a filter or a sketch, nil if it has none.
func listShare(x *engine.Context, name []byte) answer.Reply {
	var entry *catalog.Entry
	x.Look(func() { entry = x.Names().Lookup(name) })
	if entry == nil || entry.Kind == catalog.String || contents.PartOf(entry) == nil {
		return answer.Nil()
	}
	if contents.IsFilter(entry) && contents.PartCount(entry) > 1 {
		v, ok := shareOf(x, entry, false)
		if !ok || v.first < 0 && v.Since.IsZero() {
			return answer.Nil()
		}
		return v.reply(x, entry, string(name))
	}
	if firstMine(x, entry) < 0 {
		return answer.Nil()
	}
	r, ok := peek(x, entry)
	if !ok {
		return answer.Nil()
	}
	reply := (&share{Report: r}).reply(x, entry, string(name))
	if !contents.IsFilter(entry) {
		if row, ok := listed(x, &patient{name: string(name), entry: entry}, &found{Report: r}); ok {
			reply.Elems = append(reply.Elems, answer.Text(sketchRow), row)
		}
	}
	return reply
}
