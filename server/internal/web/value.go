package web

// Replies of commands as JSON.

import (
	"math"

	"github.com/bloomery/bloomery/server/internal/answer"
)

// object is a map of a reply, as JSON has it. The API answers it, and the templates of the
// page read it by the same names.
type object map[string]any

// whole returns a whole number, 0 if there is none.
func (o object) whole(name string) int64 { return wholeOf(o[name]) }

// number returns a number, 0 if there is none.
func (o object) number(name string) float64 { return numberOf(o[name]) }

// text returns a text, "" if there is none.
func (o object) text(name string) string {
	text, _ := o[name].(string)
	return text
}

// numberOf returns a number of a reply or of JSON, 0 if v is none.
func numberOf(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case int:
		return float64(v)
	}
	return 0
}

// wholeOf returns a whole number of a reply or of JSON, 0 if v is none. One that is too
// large for JSON is the largest there is.
func wholeOf(v any) int64 {
	if n, ok := v.(int64); ok {
		return n
	}
	if f := numberOf(v); f < math.MaxInt64 {
		return int64(f)
	}
	return math.MaxInt64
}

// numbersOf returns the numbers of a list.
func numbersOf(v any) []float64 {
	list, _ := v.([]any)
	all := make([]float64, len(list))
	for i := range list {
		all[i] = numberOf(list[i])
	}
	return all
}

// valueOf returns a reply as JSON has it. What JSON does not have, a number that is
// none, is null.
func valueOf(r *answer.Reply) any {
	switch r.Kind {
	case answer.Int:
		return r.N
	case answer.Bool:
		return r.N != 0
	case answer.Double:
		return decimal(math.Float64frombits(uint64(r.N)))
	case answer.Status, answer.Bulk, answer.Verbatim:
		return r.Text
	case answer.Array, answer.Set:
		return valuesOf(r.Elems)
	case answer.Map, answer.Fields:
		return objectOf(r)
	case answer.Bools:
		return r.Bools
	case answer.None, answer.Error, answer.Null, answer.NullArray, answer.Codes, answer.CodeInts: // no value, or none that is asked for
	}
	return nil
}

func valuesOf(elems []answer.Reply) []any {
	list := make([]any, len(elems))
	for i := range elems {
		list[i] = valueOf(&elems[i])
	}
	return list
}

// objectOf returns a map whose keys are words of ours.
func objectOf(r *answer.Reply) object {
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
func at(r *answer.Reply, key string) *answer.Reply {
	for i := 0; i+1 < len(r.Elems); i += 2 {
		if r.Elems[i].Text == key {
			return &r.Elems[i+1]
		}
	}
	return &answer.Reply{}
}
