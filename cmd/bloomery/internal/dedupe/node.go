// Texts of an Exact: what fits into memory, and files for what does not.

package dedupe

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
)

// checkEvery is after how many records a context is asked.
const checkEvery = 4096

// verdict is what is known of a line.
type verdict uint8

const (
	isNew     verdict = iota // never seen before
	isOld                    // seen before
	isDelayed                // its time comes at the end
)

// node judges one stream of lines by their texts: the input, or a part of it that was
// spilled. There is one at a time for each level, and the deepest has the memory. What
// is left of the parts is merged in the order of the lines:
//
//	part 0 .. 63 ─► memory ─► run 0 .. 63 ─► merged
type node struct {
	e     *Exact
	level int
	table table
	full  bool
	parts []*recordWriter // when the table is full
	// known are duplicates that were found when others were delayed already:
	// they wait, too, so that order is kept.
	known *recordWriter
}

func (e *Exact) newNode(level int) *node {
	n := &node{e: e, level: level}
	key := func(text []byte) []byte { return text }
	if e.Count {
		var buf []byte
		key = func(text []byte) (k []byte) {
			k, buf = e.Key.Of(text, buf)
			return k
		}
	}
	n.table = table{tally: e.Count, key: key, hash: func(text []byte) uint64 { return e.hash(level, key(text)).Lo }}
	n.table.clear(e.arena)
	return n
}

// judge takes the next line of the stream, its key and the hash of that.
func (n *node) judge(index uint64, text, key []byte, h hash) (verdict, error) {
	if n.find(key, h) {
		switch {
		case n.e.Count:
			return isDelayed, nil
		case n.full && n.e.Duplicates:
			return isDelayed, n.known.put(index, 1, text)
		}
		return isOld, nil
	}
	if !n.full {
		ok, err := n.insert(index, text, key, h)
		switch {
		case err != nil:
			return isDelayed, err
		case ok && n.e.Count:
			return isDelayed, nil
		case ok:
			return isNew, nil
		}
	}
	n.e.spilled++
	return isDelayed, n.parts[bloomery.Route(h.Lo, n.e.bits)].put(index, 1, text)
}

// find reports whether a line came before, and counts it if that is wanted.
func (n *node) find(key []byte, h hash) bool {
	at, ok := n.table.find(h.Lo, key)
	if ok && n.e.Count {
		n.table.count(at)
	}
	return ok
}

// insert stores a new line, or opens the parts if it has no room. The first
// line always gets room, so that each stream is shorter than the one it comes
// from.
func (n *node) insert(index uint64, text, key []byte, h hash) (bool, error) {
	stored := key
	if n.e.Count {
		stored = text
	}
	if n.table.insert(h.Lo, index, stored) {
		return true, nil
	}
	if n.table.n == 0 {
		n.table.clear(make([]byte, len(stored)+maxTextHead+firstTable*slotBytes))
		return n.table.insert(h.Lo, index, stored), nil
	}
	return false, n.divide()
}

// divide opens the files that lines are spilled to from now on.
func (n *node) divide() error {
	if n.level == 0 {
		if err := n.e.spill(); err != nil {
			return err
		}
	}
	if n.level >= mostLevels {
		return fmt.Errorf("%w: lines with equal hashes do not fit into memory", bloomery.ErrTooLarge)
	}
	n.full = true
	var err error
	if n.parts, err = n.e.createParts(); err != nil {
		return err
	}
	if n.e.Duplicates {
		n.known, err = n.e.create()
	}
	return err
}

// end gives all lines that were delayed to out.
func (n *node) end(ctx context.Context, out sink) error {
	if n.e.Count {
		for at := 0; at < n.table.used; {
			text, next := n.table.text(at)
			count, index := n.table.tallied(at)
			if err := out.put(index, count, text); err != nil {
				return err
			}
			at = next
		}
	}
	if !n.full {
		return nil
	}
	for _, p := range n.parts { // all buffers are free before the next are needed
		if err := n.e.finish(p); err != nil {
			return err
		}
	}
	runs := make([]string, 0, len(n.parts)+1)
	if n.known != nil {
		if err := n.e.finish(n.known); err != nil {
			return err
		}
		runs = append(runs, n.known.name)
	}
	for _, p := range n.parts {
		if p.n == 0 {
			if err := n.e.disk.remove(p.name); err != nil {
				return spillError(err)
			}
			continue
		}
		run, err := n.part(ctx, p.name)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	return n.e.merge(ctx, runs, out)
}

// part judges the lines of one part and returns the file of those wanted.
func (n *node) part(ctx context.Context, name string) (run string, err error) {
	in, err := n.e.reopen(name)
	if err != nil {
		return "", err
	}
	out, err := n.e.create()
	if err != nil {
		return "", errors.Join(err, n.e.consumed(in))
	}
	err = n.e.newNode(n.level+1).read(ctx, in, out)
	if err := errors.Join(err, n.e.finish(out)); err != nil {
		return "", err
	}
	return out.name, nil
}

// read judges all lines of a part and removes it.
func (n *node) read(ctx context.Context, in *recordReader, out sink) error {
	var text, key []byte
	var err error
	for i := 0; ; i++ {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return errors.Join(ctx.Err(), n.e.consumed(in))
		}
		if err = in.next(); err != nil {
			break
		}
		if text, err = in.text(text); err != nil {
			break
		}
		key, n.e.keyBuf = n.e.Key.Of(text, n.e.keyBuf)
		var v verdict
		if v, err = n.judge(in.index, text, key, n.e.hash(n.level, key)); err != nil {
			break
		}
		if v == isNew && !n.e.Duplicates || v == isOld && n.e.Duplicates {
			if err = out.put(in.index, 1, text); err != nil {
				break
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, n.e.consumed(in)); err != nil {
		return err
	}
	return n.end(ctx, out)
}

// merge gives the lines of all files to out, in the order of their numbers.
func (e *Exact) merge(ctx context.Context, names []string, out sink) error {
	var runs runHeap
	var text []byte
	for _, name := range names {
		r, err := e.reopen(name)
		if err != nil {
			return err
		}
		if err := r.next(); errors.Is(err, io.EOF) {
			if err := e.consumed(r); err != nil {
				return err
			}
		} else if err != nil {
			return err
		} else {
			runs = append(runs, r)
		}
	}
	heap.Init(&runs)
	for i := 0; len(runs) > 0; i++ {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r := runs[0]
		var err error
		if text, err = r.text(text); err != nil {
			return err
		}
		if err := out.put(r.index, r.count, text); err != nil {
			return err
		}
		switch err := r.next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&runs)
			if err := e.consumed(r); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			heap.Fix(&runs, 0)
		}
	}
	return nil
}

// runHeap is a heap.Interface: the file whose next line comes first is on top.
type runHeap []*recordReader

// Len implements heap.Interface.
func (h runHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h runHeap) Less(i, j int) bool { return h[i].index < h[j].index }

// Swap implements heap.Interface.
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface; nothing is ever pushed.
func (h *runHeap) Push(any) {}

// Pop implements heap.Interface.
func (h *runHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
