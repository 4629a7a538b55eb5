package local

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// load reads the part files that m names, several at a time, and fills state. It
// returns their sizes. Errors name file and offset.
func load(files Files, m *manifest, state *store.State) (map[uint64]uint64, error) {
	values := make([]any, len(m.items))
	sizes := map[uint64]uint64{}
	for i := range m.items {
		if it := &m.items[i]; it.gone {
			values[i] = new(store.Part)
		} else {
			sizes[it.file] = 0
		}
	}
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		first error
		queue = make(chan uint64, len(sizes))
	)
	for _, number := range slices.Sorted(maps.Keys(sizes)) {
		queue <- number
	}
	close(queue)
	for range min(runtime.GOMAXPROCS(0), len(sizes)) {
		wg.Go(func() {
			for number := range queue {
				size, err := loadParts(files, number, m, values)
				mu.Lock()
				sizes[number] = uint64(size)
				if err != nil && first == nil {
					first = &damage{partName(number), err}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if first != nil {
		return nil, first
	}
	return sizes, fill(m, values, state)
}

// fill puts the items of m and their contents into state.
func fill(m *manifest, values []any, state *store.State) error {
	state.Names.Lock()
	defer state.Names.Unlock()
	state.SetLast(m.last)
	if m.seeded {
		state.SetSeed(m.seed)
	}
	for i := range m.items {
		it := &m.items[i]
		if values[i] == nil {
			return &damage{partName(it.file), fmt.Errorf("%w: contents of id %d are missing", bloomery.ErrCorrupt, it.id)}
		}
		if state.Names.Get([]byte(it.name)) != nil {
			return &damage{manifestName, fmt.Errorf("%w: the name of id %d is there twice", bloomery.ErrCorrupt, it.id)}
		}
		state.Restore(it.name, it.id, it.kind, it.deadline, values[i])
	}
	return nil
}

// loadParts reads one part file into the values of m's items.
func loadParts(files Files, number uint64, m *manifest, values []any) (int64, error) {
	r, err := files.Open(partName(number))
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
