package web

// Replies of commands as JSON.

import (
	"math"

	"github.com/bloomery/bloomery/server/internal/engine"
)

// object is a map of a reply, as JSON has it.
type object map[string]any

// valueOf returns a reply as JSON has it. What JSON does not have, a number that is
// none, is null.
func valueOf(r *engine.Reply) any {
	switch r.Kind {
	case engine.Int:
		return r.N
	case engine.Bool:
		return r.N != 0
	case engine.Double:
		return decimal(math.Float64frombits(uint64(r.N)))
	case engine.Status, engine.Bulk, engine.Verbatim:
		return r.Text
	case engine.Array, engine.Set:
		return valuesOf(r.Elems)
	case engine.Map, engine.Fields:
		return objectOf(r)
	case engine.Bools:
		return r.Bools
	case engine.None, engine.Error, engine.Null, engine.NullArray, engine.Codes, engine.CodeInts: // no value, or none that is asked for
	}
	return nil
}

func valuesOf(elems []engine.Reply) []any {
	list := make([]any, len(elems))
	for i := range elems {
		list[i] = valueOf(&elems[i])
	}
	return list
}

// objectOf returns a map whose keys are words of ours.
func objectOf(r *engine.Reply) object {
	o := object{}
	for i := 0; i+1 < len(r.Elems); i += 2 {
		o[r.Elems[i].Text] = valueOf(&r.Elems[i+1])
	}
	return o
}

// decimal returns a number, nil for one that JSON does not have.
func decimal(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return v
}

// at returns the value of a key in a map, an empty reply if there is none.
func at(r *engine.Reply, key string) *engine.Reply {
	for i := 0; i+1 < len(r.Elems); i += 2 {
		if r.Elems[i].Text == key {
			return &r.Elems[i+1]
		}
	}
	return &engine.Reply{}
}
