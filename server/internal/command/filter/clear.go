package filter

import (
	"errors"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// clearCmd is FILTER.CLEAR key.
var clearCmd = engine.Command{
	Name: "filter.clear", Arity: 2, Flags: traits.Write | traits.Outside, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "slow", "delete"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key", Complexity: "O(n), n being the number of bytes", Summary: "Removes all items from a filter. The filter itself stays.",
	Cost:     engine.ByKeys((*engine.Costs).Clear),
	Assemble: func(_ *engine.Context, _ *engine.Call, parts []answer.Reply) answer.Reply { return parts[0] },
	Run:      runClear,
}

var errGone = errors.New("the filter is gone")

// runClear replaces part after part by an empty one.
func runClear(x *engine.Context, c *engine.Call) {
	entry := filters.Look(x, c)
	if entry == nil || !filters.Usable(c, entry) {
		return
	}
	if row := contents.PartOf(entry).Row(); row.Features.Static {
		c.Fail("ERR FILTER.CLEAR is not for kind " + row.Name + ", which never changes")
		return
	}
	for i, p := range contents.Parts(entry) {
		if !x.Contents().Mine(entry, p) {
			continue
		}
		if x.Killed() { // a client that has left by itself wants it empty
			c.Fail(answer.TextStopped)
			return
		}
		outline, err := blankOf(p)
		if err != nil {
			c.Fail("ERR " + answer.OneLine(err))
			return
		}
		res, failed := x.Contents().ApplyPiece(p, store.Record{ID: entry.ID, Index: uint32(i), Body: &store.FilterClear{Outline: outline}})
		if !filters.Settled(c, &res, failed) {
			return
		}
	}
	c.Answer(answer.OK())
}

// blankOf returns the outline of an empty filter with the shape of a part. It works
// on a copy.
func blankOf(p *contents.Part) ([]byte, error) {
	if head, err := headOf(p); head != nil || err != nil {
		return append(head, 0), err // no words besides the header
	}
	data, hasher, err := encode(p)
	if err != nil {
		return nil, err
	}
	f, err := codec.Config{Hasher: hasher}.Open(data)
	if err != nil {
		return nil, err
	}
	if err := empty(f); err != nil {
		return nil, err
	}
	return codec.AppendOutline(nil, f)
}

// headOf returns the header of the encoding of a part whose payload is its array
// and nothing else; nil if it is of another kind.
func headOf(p *contents.Part) ([]byte, error) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return nil, errGone
	}
	_, ok := p.Filter().(shaped)
	w, writes := p.Filter().(io.WriterTo)
	if !ok || !writes {
		return nil, nil
	}
	var head headWriter
	if _, err := w.WriteTo(&head); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return head, nil
}

var errEnough = errors.New("the header is all that is needed")

// headWriter keeps the header of an encoding and refuses the rest.
type headWriter []byte

func (w *headWriter) Write(b []byte) (int, error) {
	if len(*w) >= headerBytes {
		return 0, errEnough
	}
	*w = append(*w, b[:min(len(b), headerBytes-len(*w))]...)
	return len(b), nil
}

// empty removes all keys.
func empty(f bloomery.Hashed) error {
	if q, ok := f.(*compose.Quorum); ok {
		for _, m := range q.Members() {
			if err := empty(m); err != nil {
				return err
			}
		}
		return nil
	}
	v, ok := f.(interface{ Clear() })
	if !ok {
		return fmt.Errorf("a filter of kind %s cannot be emptied", f.Stats().Kind)
	}
	v.Clear()
	return nil
}

// encode returns the encoding of a part, and what opens it.
func encode(p *contents.Part) (data []byte, hasher hashing.Hasher, err error) {
	hasher, _ = p.Hasher() // without the key it is copied all the same
	data, err = copied(p, false)
	return data, hasher, err
}
