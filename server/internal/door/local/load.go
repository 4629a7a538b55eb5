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

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// loaded is what load has read.
type loaded struct {
	values  []any             // by item: a *store.Part or a string; nil if it is lost
	sizes   map[uint64]uint64 // of the part files that are needed, by number
	damaged map[uint64]error  // those that are missing or damaged
}

// load reads the part files that m names, several at a time. Contents of a file
// that is damaged are nil as far as they are lost.
func load(files Folder, m *manifest) *loaded {
	l := &loaded{values: make([]any, len(m.items)), sizes: map[uint64]uint64{}, damaged: map[uint64]error{}}
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
				size, err := loadParts(files, number, m, l.values)
				if err == nil {
					err = complete(m, number, size, l.values)
				}
				mu.Lock()
				l.sizes[number] = uint64(size)
				if err != nil {
					l.damaged[number] = err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for number := range l.damaged {
		salvage(files, number, m, l.values)
	}
	return l
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
	for i := range m.items {
		it := &m.items[i]
		if state.Names.Get([]byte(it.name)) != nil {
			return nil, &damage{manifestName, fmt.Errorf("%w: the name of id %d is there twice", bloomery.ErrCorrupt, it.id)}
		}
		v := l.values[i]
		if v == nil {
			v, lost[it.id] = new(store.Part), true
		}
		state.Restore(it.name, it.id, it.kind, it.deadline, v)
	}
	return lost, nil
}

// salvage reads what is whole in a damaged file of many small contents.
func salvage(files Folder, number uint64, m *manifest, values []any) {
	count := 0
	for i := range m.items {
		if it := &m.items[i]; !it.gone && it.file == number {
			values[i] = nil
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
	var a assembly
	for at := 0; at < len(data); {
		fr, err := parseFrame(data[at:], partFrame)
		if err == nil && fr.a == number && fr.b == uint64(at) {
			err = a.take(fr.body, uint64(len(data)), m, number, values)
			at += frameHeader + len(fr.body)
			if err != nil {
				a = assembly{}
			}
			continue
		}
		_ = a.finish(values) // it may have been whole before the damage
		next := findFrame(data[at+1:], partFrame)
		if next < 0 {
			return
		}
		at += 1 + next
	}
	_ = a.finish(values)
}

// loadParts reads one part file into the values of m's items.
func loadParts(files Folder, number uint64, m *manifest, values []any) (int64, error) {
	r, err := files.Open(partName(number))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: missing", bloomery.ErrCorrupt)
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }() // it was only read
	f := frameReader{r: r, kind: partFrame, number: number}
	var a assembly
	for {
		at := f.off
		fr, err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if err := a.take(fr.body, uint64(r.Size()), m, number, values); err != nil {
			return 0, fmt.Errorf("offset %d: %w", at, err)
		}
	}
	if err := a.finish(values); err != nil {
		return 0, fmt.Errorf("offset %d: %w", f.off, err)
	}
	return r.Size(), nil
}

// assembly puts contents together from pieces.
type assembly struct {
	id    uint64 // 0 for none, or for what nobody needs
	index int    // of the item
	item  *item
	size  uint64
	text  []byte
	from  store.Loader
}

// take adds the piece of a frame. most bounds what contents may claim to be:
// they are in a file of that size.
func (a *assembly) take(body []byte, most uint64, m *manifest, number uint64, values []any) error {
	c := cursor{rest: body}
	id, size, off := c.uvarint(), c.uvarint(), c.uvarint()
	if c.bad || id == 0 || off > size || uint64(len(c.rest)) > size-off || size > most {
		return fmt.Errorf("%w: piece", bloomery.ErrCorrupt)
	}
	if off == 0 {
		if err := a.finish(values); err != nil {
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

func (a *assembly) begin(id, size uint64, first []byte, m *manifest, number uint64) (err error) {
	i, ok := slices.BinarySearchFunc(m.items, id, func(it item, id uint64) int { return compare(it.id, id) })
	if !ok || m.items[i].file != number || m.items[i].gone {
		return nil // nobody needs it any more
	}
	a.id, a.index, a.item, a.size = id, i, &m.items[i], size
	if a.item.kind == catalog.String {
		a.text = append([]byte{}, first...)
		return nil
	}
	a.from, err = store.NewLoader(a.item.kind, first, int64(size))
	return err
}

// finish makes a value of what has come.
func (a *assembly) finish(values []any) error {
	if a.id == 0 {
		return nil
	}
	it, text, from := a.item, a.text, a.from
	i, size := a.index, a.size
	*a = assembly{}
	if values[i] != nil {
		return fmt.Errorf("%w: contents of id %d are there twice", bloomery.ErrCorrupt, it.id)
	}
	if from == nil {
		if uint64(len(text)) != size {
			return fmt.Errorf("%w: string of id %d cut short", bloomery.ErrCorrupt, it.id)
		}
		values[i] = string(text)
		return nil
	}
	c, err := from.Done()
	if err != nil {
		return fmt.Errorf("id %d: %w", it.id, err)
	}
	values[i] = store.NewPart(c)
	return nil
}
