package filter

// FILTER.LAYERS and FILTER.DENSITY.

import (
	"cmp"
	"slices"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// layers is FILTER.LAYERS key.
var layers = engine.Command{
	Name: "filter.layers", Arity: 2, Flags: traits.ReadOnly | traits.Outside, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key", Complexity: "O(n), n being the number of layers",
	Summary:  "Describes what a filter of any kind consists of, BF and CF included: layers and sub-filters, the oldest first, generations, the newest first, members. Of very many, 256 are listed. Of kind layers it shows what each layer has stopped since the server started.",
	Cost:     costOfLayers,
	Assemble: assembleLayers,
	Run:      runLayers,
}

// mostLayers is how many layers are listed.
const mostLayers = 256

func runLayers(x *engine.Context, c *engine.Call) {
	var entry *catalog.Entry
	x.Look(func() { entry = x.Names().Lookup(c.Args[1]) })
	if entry != nil && entry.Kind == catalog.Layers {
		if l := contents.PartOf(entry).Layered(); l != nil {
			c.Answer(describeLayers(l))
		} else {
			c.Fail(engine.TextElsewhere)
		}
		return
	}
	if entry = findAny(x, c); entry == nil {
		return
	}
	rows := []answer.Reply{}
	for part, p := range contents.Parts(entry) {
		if x.GaveUp(c) {
			return
		}
		if !x.Contents().Mine(entry, p) {
			continue
		}
		list, ok := p.Layers(mostLayers - len(rows))
		if !ok {
			c.Fail(answer.TextNotFound)
			return
		}
		for i, l := range list {
			fields := []field{
				{"part", int64(part)}, {"layer", int64(i)}, {"kind", l.Kind}, {"capacity", whole(l.Capacity)}, {"items", whole(l.Items)},
				{"items_exact", l.Exact}, {"bits", whole(l.Bits)}, {"bytes", whole(l.Bytes)}, {"saturation", l.Saturation},
				{"asked", l.Asked}, {"predicted", l.Predicted},
			}
			if l.Aged {
				fields = append(fields, field{"generation", whole(l.Generation)})
			}
			rows = append(rows, asMap(fields))
		}
		if len(rows) >= mostLayers {
			break
		}
	}
	c.Answer(answer.List(rows...))
}

// assembleLayers puts the rows of several nodes into the order of their parts. Each has listed as many as
// are listed of all.
func assembleLayers(_ *engine.Context, _ *engine.Call, parts []answer.Reply) answer.Reply {
	var rows []answer.Reply
	for i := range parts {
		rows = append(rows, parts[i].Elems...)
	}
	part := func(r answer.Reply) int64 {
		if len(r.Elems) < 2 {
			return 0
		}
		return r.Elems[1].N
	}
	slices.SortStableFunc(rows, func(a, b answer.Reply) int { return cmp.Compare(part(a), part(b)) })
	return answer.List(rows[:min(len(rows), mostLayers)]...)
}

// costOfLayers counts that so many parts are looked at, if each is one layer, and the filters below layers.
func costOfLayers(x *engine.Costs, c *engine.Call) {
	x.Items(c.Args[1], 1)
	for range mostLayers / contents.LookParts {
		x.Look(c.Args[1])
	}
}

// density is FILTER.DENSITY key cells.
var density = engine.Command{
	Name: "filter.density", Arity: 3, Flags: traits.ReadOnly | traits.Outside, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key cells", Complexity: "O(n), n being the number of cells",
	Summary:  "Cuts the array of a filter of any kind into cells and returns how full each is: the share of its bits that are set, or of its bytes that are not 0. arrays is the number of the array that each cell lies in, from 0 on, in every part: a filter that grows has one for each layer, and no cell in one smaller than a cell. Up to 4 KiB of a cell are looked at.",
	Cost:     costOfDensity,
	Assemble: assembleDensity,
	Run:      runDensity,
}

// mostCells bounds the cells.
const mostCells = 4096

func runDensity(x *engine.Context, c *engine.Call) {
	var n uint64
	if text := blueprint.Number(c.Args[2], &n, 1, mostCells, "cells"); text != "" {
		c.Fail(text)
		return
	}
	entry := findAny(x, c)
	if entry == nil {
		return
	}
	// Every part has equally many cells; of very many parts, each cell is one.
	cells, parts := make([]contents.Cell, n), contents.PartCount(entry)
	each, ofBits, ok := max(int(n)/parts, 1), false, false
	others := make([]bool, n) // cells of parts that are not this node's
	for i := 0; i < len(cells); {
		if x.GaveUp(c) {
			return
		}
		// The cells of a part, or as many of them as are filled under one lock.
		first, end := i/each*each, min(i/each*each+each, len(cells))
		piece := cells[i:min(i+contents.DensityCells, end)]
		p := contents.PartAt(entry, uint32(min(first*parts/len(cells), parts-1)))
		if !x.Contents().Mine(entry, p) {
			for j := range piece {
				others[i+j] = true
			}
			i += len(piece)
			continue
		}
		if ofBits, ok = p.Density(piece, i-first, end-first); !ok {
			c.Fail(answer.TextNotFound)
			return
		}
		i += len(piece)
	}
	unit := "bytes"
	if ofBits {
		unit = "bits"
	}
	shares, arrays := make([]answer.Reply, len(cells)), make([]answer.Reply, len(cells))
	for i, v := range cells {
		if shares[i], arrays[i] = answer.Float(v.Used), answer.Integer(int64(v.Array)); others[i] {
			shares[i], arrays[i] = answer.Nil(), answer.Nil()
		}
	}
	c.Answer(answer.Pairs(answer.Text("unit"), answer.Text(unit), answer.Text("cells"), answer.List(shares...), answer.Text("arrays"), answer.List(arrays...)))
}

// assembleDensity takes each cell from the node that has it.
func assembleDensity(_ *engine.Context, _ *engine.Call, parts []answer.Reply) (all answer.Reply) {
	for _, r := range parts {
		if len(r.Elems) != 6 {
			return answer.Fail("ERR the nodes gave answers that do not fit together: send it again")
		}
		if all.Kind == answer.None {
			all = r
			continue
		}
		cells, arrays := all.Elems[3].Elems, all.Elems[5].Elems
		for i, v := range r.Elems[3].Elems {
			if i < min(len(cells), len(arrays), len(r.Elems[5].Elems)) && v.Kind != answer.Null {
				cells[i], arrays[i], all.Elems[1] = v, r.Elems[5].Elems[i], r.Elems[1]
			}
		}
	}
	return all
}

// costOfDensity counts what is looked at of every cell.
func costOfDensity(x *engine.Costs, c *engine.Call) {
	const cellBytes = 8 << 10 // of what is looked at, some byte by byte
	var n uint64
	if blueprint.Number(c.Args[2], &n, 1, mostCells, "cells") == "" {
		x.Bytes(int(n) * cellBytes)
	}
	x.Visit(c.Args[1])
}
