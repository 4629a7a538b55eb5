package local

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
	"github.com/bloomery/bloomery/server/internal/store"
)

// loaded is what load has read.
type loaded struct {
	state   *store.State
	values  []any             // by item: a *store.Part or a string; nil if it is lost
	sizes   map[uint64]uint64 // of the part files that are needed, by number
	damaged map[uint64]error  // those that are missing or damaged
	failed  error             // a file could not be read, which says nothing about it
}

// load reads the part files that m names, several at a time. Contents of a file
// that is damaged are nil as far as they are lost.
func load(files Folder, m *manifest, state *store.State) *loaded {
	l := &loaded{state: state, values: make([]any, len(m.items)), sizes: map[uint64]uint64{}, damaged: map[uint64]error{}}
	for i := range m.items {
		if it := &m.items[i]; it.gone {
			l.values[i] = new(store.Part)
		} else {
			l.sizes[it.file] = 0
		}
	}
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		queue = make(chan uint64, len(l.sizes))
	)
	for _, number := range slices.Sorted(maps.Keys(l.sizes)) {
		queue <- number
	}
	close(queue)
	for range min(runtime.GOMAXPROCS(0), len(l.sizes)) {
		wg.Go(func() {
			for number := range queue {
				size, err := l.loadParts(files, number, m)
				if err == nil {
					err = complete(m, number, size, l.values)
				}
				mu.Lock()
				l.sizes[number] = uint64(size)
				switch {
				case isDamage(err):
					l.damaged[number] = err
				case err != nil:
					l.failed = &damage{partName(number), err}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for number := range l.damaged {
		l.salvage(files, number, m)
	}
	return l
}

// isDamage reports whether an error is of the file: not one of a later release,
// of memory, of permissions. A start refuses them all; only damage is dropped.
func isDamage(err error) bool {
	return errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) && !errors.Is(err, store.ErrMemory) || errors.Is(err, syscall.EIO)
}

// first returns the first damage, with the name of its file.
func (l *loaded) first() error {
	for _, number := range slices.Sorted(maps.Keys(l.damaged)) {
		return &damage{partName(number), l.damaged[number]}
	}
	return nil
}

// complete checks that a file held all that m says.
func complete(m *manifest, number uint64, size int64, values []any) error {
	for i := range m.items {
		if it := &m.items[i]; it.file == number && values[i] == nil {
			return fmt.Errorf("offset %d: %w: contents of id %d are missing", size, bloomery.ErrCorrupt, it.id)
		}
	}
	return nil
}

// fill puts the items of m and their contents into state. Those that are lost
// are void, and their ids in lost.
func (l *loaded) fill(m *manifest, state *store.State) (lost map[uint64]bool, err error) {
	state.Names.Lock()
	defer state.Names.Unlock()
	state.SetLast(m.last)
	if m.seeded {
		state.SetSeed(m.seed)
	}
	lost = map[uint64]bool{}
	for i := 0; i < len(m.items); {
		it := &m.items[i]
		n := 1
		for i+n < len(m.items) && m.items[i+n].kind == catalog.FilterPart {
			n++
		}
		if it.kind == catalog.FilterPart || n > 1 && m.items[i+n-1].id != it.id+uint64(n-1) {
			return nil, &damage{manifestName, fmt.Errorf("%w: the parts of id %d are not together", bloomery.ErrCorrupt, it.id)}
		}
		if it.deadline != catalog.Staged && state.Names.Get([]byte(it.name)) != nil {
			return nil, &damage{manifestName, fmt.Errorf("%w: the name of id %d is there twice", bloomery.ErrCorrupt, it.id)}
		}
		parts, text := l.valuesOf(i, n)
		if l.anyLost(i, n) {
			lost[it.id] = true
		}
		state.Restore(it.name, it.id, it.kind, it.deadline, parts, text)
		i += n
	}
	return lost, nil
}

// anyLost reports whether one of n values is lost.
func (l *loaded) anyLost(first, n int) bool { return slices.Contains(l.values[first:first+n], nil) }

// valuesOf returns the n values from the one at first on: parts, of which those that
// are lost are void, or a string. A filter of which a part is lost is void as a
// whole: the others alone would deny keys.
func (l *loaded) valuesOf(first, n int) (parts []*store.Part, text string) {
	if s, ok := l.values[first].(string); ok {
		return nil, s
	}
	broken := n > 1 && l.anyLost(first, n)
	for _, v := range l.values[first : first+n] {
		p, _ := v.(*store.Part)
		if p != nil && broken {
			p.Discard()
			p = nil
		}
		if p == nil {
			p = new(store.Part)
		}
		parts = append(parts, p)
	}
	return parts, ""
}

// salvage reads what is whole in a damaged file of many small contents.
func (l *loaded) salvage(files Folder, number uint64, m *manifest) {
	count := 0
	for i := range m.items {
		if it := &m.items[i]; !it.gone && it.file == number {
			if p, ok := l.values[i].(*store.Part); ok {
				p.Discard()
			}
			l.values[i] = nil
			count++
		}
	}
	if count < 2 {
		return // it holds nothing else
	}
	data, err := readFile(files, partName(number), nil)
	if err != nil {
		return
	}
	a := assembly{loaded: l}
	for at := 0; at < len(data); {
		fr, err := parseFrame(data[at:], partFrame)
		if err == nil && fr.a == number && fr.b == uint64(at) {
			err = a.take(fr.body, uint64(len(data)), m, number)
			at += frameHeader + len(fr.body)
			if err != nil {
				a.release()
			}
			continue
		}
		_ = a.finish() // it may have been whole before the damage
		next := findFrame(data[at+1:], partFrame)
		if next < 0 {
			return
		}
		at += 1 + next
	}
	_ = a.finish()
}

// loadParts reads one part file into the values of m's items.
func (l *loaded) loadParts(files Folder, number uint64, m *manifest) (int64, error) {
	r, err := files.Open(partName(number))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: missing", bloomery.ErrCorrupt)
	}
	if d, ok := errors.AsType[*damage](err); ok {
		return 0, d.err // the caller names the file
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }() // it was only read
	f := frameReader{r: r, kind: partFrame, number: number}
	a := assembly{loaded: l}
	defer a.release()
	for {
		at := f.off
		fr, err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if err := a.take(fr.body, uint64(r.Size()), m, number); err != nil {
			return 0, fmt.Errorf("offset %d: %w", at, err)
		}
	}
	if err := a.finish(); err != nil {
		return 0, fmt.Errorf("offset %d: %w", f.off, err)
	}
	return r.Size(), nil
}

// assembly puts contents together from pieces.
type assembly struct {
	*loaded
	id    uint64 // 0 for none, or for what nobody needs
	index int    // of the item
	item  *item
	size  uint64
	text  []byte
	from  store.Loader
}

// take adds the piece of a frame. most bounds what contents may claim to be:
// they are in a file of that size.
func (a *assembly) take(body []byte, most uint64, m *manifest, number uint64) error {
	c := cursor{rest: body}
	id, size, off := c.uvarint(), c.uvarint(), c.uvarint()
	if c.bad || id == 0 || off > size || uint64(len(c.rest)) > size-off || size > most {
		return fmt.Errorf("%w: piece", bloomery.ErrCorrupt)
	}
	if off == 0 {
		if err := a.finish(); err != nil {
			return err
		}
		return a.begin(id, size, c.rest, m, number)
	}
	if a.id == 0 {
		return nil
	}
	if id != a.id || size != a.size {
		return fmt.Errorf("%w: piece of another filter", bloomery.ErrCorrupt)
	}
	if a.from != nil {
		return a.from.Put(c.rest, int64(off))
	}
	if off != uint64(len(a.text)) {
		return fmt.Errorf("%w: piece of a string out of order", bloomery.ErrCorrupt)
	}
	a.text = append(a.text, c.rest...)
	return nil
}

func (a *assembly) begin(id, size uint64, first []byte, m *manifest, number uint64) error {
	i, ok := slices.BinarySearchFunc(m.items, id, func(it item, id uint64) int { return compare(it.id, id) })
	if !ok || m.items[i].file != number || m.items[i].gone {
		return nil // nobody needs it any more
	}
	it := &m.items[i]
	if it.kind == catalog.String {
		a.id, a.index, a.item, a.size, a.text = id, i, it, size, append([]byte{}, first...)
		return nil
	}
	from, err := a.state.NewLoader(it.kind, first, int64(size))
	if err == nil {
		a.id, a.index, a.item, a.size, a.from = id, i, it, size, from
	}
	return err
}

// finish makes a value of what has come.
func (a *assembly) finish() error {
	if a.id == 0 {
		return nil
	}
	it, text, from := a.item, a.text, a.from
	i, size, values := a.index, a.size, a.values
	*a = assembly{loaded: a.loaded}
	if values[i] != nil {
		if from != nil {
			from.Release()
		}
		return fmt.Errorf("%w: contents of id %d are there twice", bloomery.ErrCorrupt, it.id)
	}
	if from == nil {
		if uint64(len(text)) != size {
			return fmt.Errorf("%w: string of id %d cut short", bloomery.ErrCorrupt, it.id)
		}
		values[i] = string(text)
		return nil
	}
	p, err := store.FinishLoad(from)
	if err != nil {
		from.Release()
		return fmt.Errorf("id %d: %w", it.id, err)
	}
	values[i] = p
	return nil
}

// release gives up what has come.
func (a *assembly) release() {
	if a.from != nil {
		a.from.Release()
	}
	*a = assembly{loaded: a.loaded}
}
