package snapshot

// How part files are read at the start.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Loaded is what Load has read.
type Loaded struct {
	Sizes   map[uint64]uint64 // of the part files that are needed, by number
	Damaged map[uint64]error  // those that are missing or damaged
	Failed  error             // a file could not be read, which says nothing about it

	state  *store.State
	values []any // by item: a *contents.Part or a string; nil if it is lost
}

// Load reads the part files that m names, several at a time. Contents of a file
// that is damaged are lost, but for what is whole in it.
func Load(files folder.Folder, m *Manifest, state *store.State) *Loaded {
	l := &Loaded{state: state, values: make([]any, len(m.Items)), Sizes: map[uint64]uint64{}, Damaged: map[uint64]error{}}
	for i := range m.Items {
		switch it := &m.Items[i]; {
		case it.Gone:
			l.values[i] = new(contents.Part)
		case it.Elsewhere:
			p, err := state.Away(it.Kind, it.About)
			if err != nil {
				l.Failed = &folder.Damage{File: folder.Manifest, Err: fmt.Errorf("id %d: %w", it.ID, err)}
				return l
			}
			l.values[i] = p
		default:
			l.Sizes[it.File] = 0
		}
	}
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		queue = make(chan uint64, len(l.Sizes))
	)
	for _, number := range slices.Sorted(maps.Keys(l.Sizes)) {
		queue <- number
	}
	close(queue)
	for range min(runtime.GOMAXPROCS(0), len(l.Sizes)) {
		wg.Go(func() {
			for number := range queue {
				size, err := l.loadParts(files, number, m)
				if err == nil {
					err = complete(m, number, size, l.values)
				}
				mu.Lock()
				l.Sizes[number] = uint64(size)
				switch {
				case isDamage(err):
					l.Damaged[number] = err
				case err != nil:
					l.Failed = &folder.Damage{File: folder.PartName(number), Err: err}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for number := range l.Damaged {
		l.salvage(files, number, m)
	}
	return l
}

// Discard gives back the memory of what was read and is not to be put into a state.
func (l *Loaded) Discard() {
	for _, v := range l.values {
		if p, ok := v.(*contents.Part); ok {
			p.Discard()
		}
	}
}

// isDamage reports whether an error is of the file: not one of a later release,
// of memory, of permissions. A start refuses them all; only damage is dropped.
func isDamage(err error) bool {
	return errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) && !errors.Is(err, contents.ErrMemory) || errors.Is(err, syscall.EIO)
}

// First returns the first damage, with the name of its file, nil if there is none.
func (l *Loaded) First() error {
	for _, number := range slices.Sorted(maps.Keys(l.Damaged)) {
		return &folder.Damage{File: folder.PartName(number), Err: l.Damaged[number]}
	}
	return nil
}

// complete checks that a file held all that m says.
func complete(m *Manifest, number uint64, size int64, values []any) error {
	for i := range m.Items {
		if it := &m.Items[i]; it.InFile() && it.File == number && values[i] == nil {
			return fmt.Errorf("offset %d: %w: contents of id %d are missing", size, bloomery.ErrCorrupt, it.ID)
		}
	}
	return nil
}

// Fill puts the items of m and their contents into state. Those that are lost
// are void, and their ids in lost.
func (l *Loaded) Fill(m *Manifest, state *store.State) (lost map[uint64]bool, err error) {
	state.Names.Lock()
	defer state.Names.Unlock()
	state.SetLast(m.Last)
	if m.Seeded {
		state.SetSeed(m.Seed)
	}
	lost = map[uint64]bool{}
	for i := 0; i < len(m.Items); {
		it := &m.Items[i]
		n := 1
		for i+n < len(m.Items) && m.Items[i+n].Kind == catalog.FilterPart {
			n++
		}
		if it.Kind == catalog.FilterPart || n > 1 && m.Items[i+n-1].ID != it.ID+uint64(n-1) {
			return nil, &folder.Damage{File: folder.Manifest, Err: fmt.Errorf("%w: the parts of id %d are not together", bloomery.ErrCorrupt, it.ID)}
		}
		if it.Deadline != catalog.Staged && state.Names.Get([]byte(it.Name)) != nil {
			return nil, &folder.Damage{File: folder.Manifest, Err: fmt.Errorf("%w: the name of id %d is there twice", bloomery.ErrCorrupt, it.ID)}
		}
		parts, text := l.valuesOf(i, n)
		if l.anyLost(i, n) {
			lost[it.ID] = true
		}
		for j, p := range parts {
			p.SetVersion(m.Items[i+j].Version)
			p.SetShard(m.shard(i, j, state.Divided()))
		}
		state.Restore(it.Name, it.ID, it.Kind, it.Deadline, parts, text)
		i += n
	}
	return lost, nil
}

// shard returns the shard of a part of the filter whose first item is this. Before version 3
// it follows from the id, or from the name if that is to decide.
func (m *Manifest) shard(first, index int, named bool) int {
	it := &m.Items[first]
	switch {
	case m.Version >= Version3:
		return m.Items[first+index].Shard
	case named && it.Deadline != catalog.Staged:
		return placement.Shard(placement.Base(it.Name), uint32(index))
	}
	return placement.Shard(placement.BaseOf(it.ID), uint32(index))
}

// shardAt returns the shard of the part of an item, for a state that is divided.
func (m *Manifest) shardAt(i int) int {
	first := i
	for first > 0 && m.Items[first].Kind == catalog.FilterPart {
		first--
	}
	return m.shard(first, i-first, true)
}

// anyLost reports whether one of n values is lost.
func (l *Loaded) anyLost(first, n int) bool { return slices.Contains(l.values[first:first+n], nil) }

// valuesOf returns the n values from the one at first on: parts, of which those that
// are lost are void, or a string. A filter of which a part is lost is void as a
// whole: the others alone would deny keys.
func (l *Loaded) valuesOf(first, n int) (parts []*contents.Part, text string) {
	if s, ok := l.values[first].(string); ok {
		return nil, s
	}
	broken := n > 1 && l.anyLost(first, n)
	for _, v := range l.values[first : first+n] {
		p, _ := v.(*contents.Part)
		if p != nil && broken {
			p.Discard()
			p = nil
		}
		if p == nil {
			p = new(contents.Part)
		}
		parts = append(parts, p)
	}
	return parts, ""
}

// salvage reads what is whole in a damaged file of many small contents.
func (l *Loaded) salvage(files folder.Folder, number uint64, m *Manifest) {
	count := 0
	for i := range m.Items {
		if it := &m.Items[i]; it.InFile() && it.File == number {
			if p, ok := l.values[i].(*contents.Part); ok {
				p.Discard()
			}
			l.values[i] = nil
			count++
		}
	}
	if count < 2 {
		return // it holds nothing else
	}
	data, err := folder.ReadFile(files, folder.PartName(number), nil)
	if err != nil {
		return
	}
	a := assembly{Loaded: l}
	for at := 0; at < len(data); {
		fr, err := folder.ParseFrame(data[at:], folder.PartFrame)
		if err == nil && fr.A == number && fr.B == uint64(at) {
			err = a.take(fr.Body, uint64(len(data)), m, number)
			at += folder.FrameHeader + len(fr.Body)
			if err != nil {
				a.release()
			}
			continue
		}
		_ = a.finish() // it may have been whole before the damage
		next := folder.FindFrame(data[at+1:], folder.PartFrame)
		if next < 0 {
			return
		}
		at += 1 + next
	}
	_ = a.finish()
}

// loadParts reads one part file into the values of m's items.
func (l *Loaded) loadParts(files folder.Folder, number uint64, m *Manifest) (int64, error) {
	r, err := files.Open(folder.PartName(number))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: missing", bloomery.ErrCorrupt)
	}
	if d, ok := errors.AsType[*folder.Damage](err); ok {
		return 0, d.Err // the caller names the file
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }() // it was only read
	f := folder.NewFrameReader(r, folder.PartFrame, number)
	a := assembly{Loaded: l}
	defer a.release()
	for {
		at := f.Off
		fr, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if err := a.take(fr.Body, uint64(r.Size()), m, number); err != nil {
			return 0, fmt.Errorf("offset %d: %w", at, err)
		}
	}
	if err := a.finish(); err != nil {
		return 0, fmt.Errorf("offset %d: %w", f.Off, err)
	}
	return r.Size(), nil
}

// assembly puts contents together from pieces.
type assembly struct {
	*Loaded
	id    uint64 // 0 for none, or for what nobody needs
	index int    // of the item
	item  *Item
	shard int
	size  uint64
	text  []byte
	from  contents.Loader
}

// take adds the piece of a frame. most bounds what contents may claim to be:
// they are in a file of that size.
func (a *assembly) take(body []byte, most uint64, m *Manifest, number uint64) error {
	c := wire.Reader{Rest: body}
	id, size, off := c.Uvarint(), c.Uvarint(), c.Uvarint()
	if c.Bad || id == 0 || off > size || uint64(len(c.Rest)) > size-off || size > most {
		return fmt.Errorf("%w: piece", bloomery.ErrCorrupt)
	}
	if off == 0 {
		if err := a.finish(); err != nil {
			return err
		}
		return a.begin(id, size, c.Rest, m, number)
	}
	if a.id == 0 {
		return nil
	}
	if id != a.id || size != a.size {
		return fmt.Errorf("%w: piece of another filter", bloomery.ErrCorrupt)
	}
	if a.from != nil {
		return a.from.Put(c.Rest, int64(off))
	}
	if off != uint64(len(a.text)) {
		return fmt.Errorf("%w: piece of a string out of order", bloomery.ErrCorrupt)
	}
	a.text = append(a.text, c.Rest...)
	return nil
}

func (a *assembly) begin(id, size uint64, first []byte, m *Manifest, number uint64) error {
	i, ok := m.index(id)
	if !ok || m.Items[i].File != number || !m.Items[i].InFile() {
		return nil // nobody needs it any more
	}
	it := &m.Items[i]
	if it.Kind == catalog.String {
		a.id, a.index, a.item, a.size, a.text = id, i, it, size, append([]byte{}, first...)
		return nil
	}
	from, err := a.state.NewLoader(it.Kind, first, int64(size))
	if err == nil {
		a.id, a.index, a.item, a.size, a.from, a.shard = id, i, it, size, from, m.shardAt(i)
	}
	return err
}

// finish makes a value of what has come.
func (a *assembly) finish() error {
	if a.id == 0 {
		return nil
	}
	it, text, from := a.item, a.text, a.from
	i, size, values, shard := a.index, a.size, a.values, a.shard
	*a = assembly{Loaded: a.Loaded}
	if values[i] != nil {
		if from != nil {
			from.Release()
		}
		return fmt.Errorf("%w: contents of id %d are there twice", bloomery.ErrCorrupt, it.ID)
	}
	if from == nil {
		if uint64(len(text)) != size {
			return fmt.Errorf("%w: string of id %d cut short", bloomery.ErrCorrupt, it.ID)
		}
		values[i] = string(text)
		return nil
	}
	p, err := contents.FinishLoad(from)
	if err != nil {
		from.Release()
		return fmt.Errorf("id %d: %w", it.ID, err)
	}
	if a.state.Divided() {
		p = a.state.Part(p, shard)
	}
	values[i] = p
	return nil
}

// release gives up what has come.
func (a *assembly) release() {
	if a.from != nil {
		a.from.Release()
	}
	*a = assembly{Loaded: a.Loaded}
}
