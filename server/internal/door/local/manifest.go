package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// The manifest is renamed into place when everything it names is durable.
const (
	manifestName = "MANIFEST"
	manifestTemp = "MANIFEST.tmp"
	manifestBody = 64 << 10 // of a frame, about
)

// manifest is the catalogue at one position of the log, and where the contents
// are. Its first frame holds the numbers, the others the items in the order of
// ids.
type manifest struct {
	number   uint64 // counts snapshots
	position uint64 // of the log, of which the catalogue is the state
	high     uint64 // up to where the log is needed
	last     uint64 // the last id that was given
	next     uint64 // the number of the next part file
	saved    int64  // when, in milliseconds since 1970
	seeded   bool   // has a seed; the first manifests had none
	seed     uint64 // of the order of names
	count    uint64
	items    []item
}

// item is a name, and where its contents are.
type item struct {
	id       uint64
	kind     catalog.Kind
	gone     bool // removed while the snapshot was taken: the log has the record
	deadline int64
	name     string
	file     uint64 // the part file with its contents
	size     uint64 // there, headers included
	position uint64 // of the log, of which the contents are the state
	version  uint64 // of the part, in memory only
}

// writeManifest writes m, to be renamed into place.
func writeManifest(files Files, m *manifest, sync func(syncPoint, File) error) error {
	f, err := files.Create(manifestTemp)
	if err != nil {
		return err
	}
	w := frameWriter{file: f, kind: manifestFrame, number: m.number}
	b := w.body()
	for _, v := range []uint64{m.number, m.position, m.high, m.last, m.next, uint64(m.saved), uint64(len(m.items))} {
		b = binary.AppendUvarint(b, v)
	}
	if m.seeded {
		b = binary.AppendUvarint(b, m.seed)
	}
	err = w.seal(b)
	for rest := m.items; err == nil && len(rest) > 0; {
		b = w.body()
		for from := len(b); len(rest) > 0 && len(b)-from < manifestBody; rest = rest[1:] {
			b = rest[0].append(b, m.position)
		}
		err = w.seal(b)
	}
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		err = sync(syncManifest, f)
	}
	return errors.Join(err, f.Close())
}

func (it *item) append(b []byte, base uint64) []byte {
	gone := byte(0)
	if it.gone {
		gone = 1
	}
	b = binary.AppendUvarint(b, it.id)
	b = append(b, byte(it.kind), gone)
	b = binary.AppendVarint(b, it.deadline)
	b = binary.AppendUvarint(b, uint64(len(it.name)))
	b = append(b, it.name...)
	b = binary.AppendUvarint(b, it.file)
	b = binary.AppendUvarint(b, it.size)
	return binary.AppendUvarint(b, it.position-base)
}

// readManifest reads the manifest of a folder. It returns nil if there is none.
func readManifest(files Folder) (*manifest, error) {
	r, err := files.Open(manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	m, err := decodeManifest(r)
	if err != nil {
		return nil, &damage{manifestName, err}
	}
	return m, nil
}

// decodeManifest decodes a manifest. The error wraps bloomery.ErrCorrupt or
// bloomery.ErrVersion.
func decodeManifest(r Reader) (*manifest, error) {
	f := frameReader{r: r, kind: manifestFrame, anyNumber: true}
	fr, err := f.next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("offset 0: %w: empty", bloomery.ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	c := cursor{rest: fr.body}
	m := &manifest{
		number: c.uvarint(), position: c.uvarint(), high: c.uvarint(), last: c.uvarint(), next: c.uvarint(),
		saved: int64(c.uvarint()), count: c.uvarint(),
	}
	if m.seeded = len(c.rest) > 0; m.seeded {
		m.seed = c.uvarint()
	}
	if !c.bad && len(c.rest) > 0 {
		return nil, fmt.Errorf("offset 0: %w: a header with more fields than this release knows: a later one is needed", bloomery.ErrVersion)
	}
	if c.bad || m.number != fr.a || m.high < m.position {
		return nil, fmt.Errorf("offset 0: %w: header", bloomery.ErrCorrupt)
	}
	for {
		at := f.off
		fr, err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for c := (cursor{rest: fr.body}); len(c.rest) > 0; {
			it, ok := c.item(m)
			if !ok || len(m.items) > 0 && m.items[len(m.items)-1].id >= it.id {
				return nil, fmt.Errorf("offset %d: %w: item", at, bloomery.ErrCorrupt)
			}
			if !store.Known(it.kind) {
				return nil, fmt.Errorf("offset %d: %w: %q is of kind %d, which this release does not have: a later one is needed", at, bloomery.ErrVersion, it.name, it.kind)
			}
			m.items = append(m.items, it)
		}
	}
	if uint64(len(m.items)) != m.count {
		return nil, fmt.Errorf("offset %d: %w: %d names, want %d", f.off, bloomery.ErrCorrupt, len(m.items), m.count)
	}
	return m, nil
}

// cursor reads values until one is cut short; from then on all are zero.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 || c.bad {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 || c.bad {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(len(c.rest)) {
		c.bad, c.rest = true, nil
		return nil
	}
	v := c.rest[:n]
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) item(m *manifest) (it item, ok bool) {
	it.id = c.uvarint()
	flags := c.take(2)
	it.deadline = c.varint()
	it.name = string(c.take(c.uvarint()))
	it.file, it.size = c.uvarint(), c.uvarint()
	it.position = m.position + c.uvarint()
	if c.bad {
		return it, false
	}
	it.kind, it.gone = catalog.Kind(flags[0]), flags[1] == 1
	return it, flags[1] <= 1 && it.id <= m.last && it.position <= m.high && it.file < m.next
}

// names returns the number of names: a filter of several parts has one.
func (m *manifest) names() int {
	n := 0
	for i := range m.items {
		if m.items[i].kind != catalog.FilterPart {
			n++
		}
	}
	return n
}

// find returns the item of an id, nil if there is none.
func (m *manifest) find(id uint64) *item {
	i, ok := slices.BinarySearchFunc(m.items, id, func(it item, id uint64) int { return compare(it.id, id) })
	if !ok {
		return nil
	}
	return &m.items[i]
}
