package snapshot

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// The versions of a manifest. Version 1 is that of a single server: one lane without
// state, and items without versions. Releases that know no other refuse version 2, that of
// a node of a cluster. Version 3 is that of a node whose contents may be those of some
// shards: items have their shard, and may be held elsewhere.
const (
	Version1 = 1
	Version2 = 2
	Version3 = 3
)

// manifestBody is about how long the body of a frame is.
const manifestBody = 64 << 10

// Manifest is the catalogue at one position, and where the contents are. Its first
// frame holds the numbers; then, in version 2, each lane has a frame; the others
// hold the items in the order of ids.
type Manifest struct {
	Version int
	Number  uint64        // counts snapshots
	Last    uint64        // the last id that was given
	Next    uint64        // the number of the next part file
	Saved   int64         // when, in milliseconds since 1970
	Seeded  bool          // has a seed; the first manifests had none
	Seed    uint64        // of the order of names
	Cluster uint64        // which cluster the data belongs to; 0 for none
	Node    uint32        // the number of the node that wrote it
	Lanes   []Lane        // at least one; the first is that of the catalogue
	Held    []roster.Held // the shards that are whole in it, in their order; from version 3 on
	Fetched bool          // another node has taken it, so there are none; from version 3 on
	Items   []Item
}

// Lane is a sequence of records, and what a recovery has to know of it.
type Lane struct {
	// Seq is the position behind which a recovery reads. The catalogue is that
	// of the first lane's; every part is that of its own position, not below.
	Seq uint64
	// High is up to where the lane must reach: it is lost if it ends before.
	High uint64
	// State is what the door keeps of the lane besides contents, at Seq.
	State []byte
}

// Item is a name, and where its contents are.
type Item struct {
	ID       uint64 // of a further part of a filter: that of the filter and its index
	Kind     catalog.Kind
	Gone     bool // removed while the snapshot was taken: the log has the record
	Deadline int64
	Name     string
	File     uint64 // the part file with its contents
	Size     uint64 // there, headers included
	Lane     int    // whose records change the contents
	Position uint64 // of that lane, of which the contents are the state
	Version  uint64 // of the part; version 1 does not keep it

	Shard     int    // of the part, from version 3 on
	Elsewhere bool   // other nodes hold the contents: no file has them
	About     []byte // what the catalogue says of those: see contents.Part.AppendAbout

	// Sum is that of the contents if Config.Sums is set, 0 if it is not known. It
	// is not kept in a file.
	Sum uint64
}

// InFile reports whether a part file has the contents.
func (it *Item) InFile() bool { return !it.Gone && !it.Elsewhere }

// Empty is the manifest of a folder that has none.
func Empty() *Manifest { return &Manifest{Version: Version1, Lanes: make([]Lane, 1)} }

// Position returns the position that the catalogue is the state of.
func (m *Manifest) Position() uint64 { return m.Lanes[0].Seq }

// High returns up to where the first lane must reach.
func (m *Manifest) High() uint64 { return m.Lanes[0].High }

// Names returns the number of names: a filter of several parts has one.
func (m *Manifest) Names() int {
	n := 0
	for i := range m.Items {
		if m.Items[i].Kind != catalog.FilterPart {
			n++
		}
	}
	return n
}

// Find returns the item of an id, nil if there is none.
func (m *Manifest) Find(id uint64) *Item {
	i, ok := m.index(id)
	if !ok {
		return nil
	}
	return &m.Items[i]
}

func (m *Manifest) index(id uint64) (int, bool) {
	return slices.BinarySearchFunc(m.Items, id, func(it Item, id uint64) int { return cmp.Compare(it.ID, id) })
}

// Files returns the numbers of the part files that m needs, with the least size that
// each must have.
func (m *Manifest) Files() map[uint64]uint64 {
	sizes := map[uint64]uint64{}
	for i := range m.Items {
		if it := &m.Items[i]; it.InFile() {
			sizes[it.File] += it.Size
		}
	}
	return sizes
}

// Write writes m into a temporary file, to be renamed into place, and makes it durable.
func (m *Manifest) Write(files folder.Files) error {
	f, err := files.Create(folder.ManifestTemp)
	if err != nil {
		return err
	}
	w := folder.NewFrameWriter(f, folder.ManifestFrame, m.Number)
	err = w.Seal(m.appendHeader(w.Body()))
	for i := 0; err == nil && m.Version > Version1 && i < len(m.Lanes); i++ {
		err = w.Seal(m.Lanes[i].append(w.Body()))
	}
	for rest := m.Items; err == nil && len(rest) > 0; {
		b := w.Body()
		for from := len(b); len(rest) > 0 && len(b)-from < manifestBody; rest = rest[1:] {
			b = m.appendItem(b, &rest[0])
		}
		err = w.Seal(b)
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Install writes m and renames it into place. All part files that it names are durable.
func (m *Manifest) Install(files folder.Files) error {
	err := m.Write(files)
	if err == nil {
		err = files.Rename(folder.ManifestTemp, folder.Manifest)
	}
	if err == nil {
		err = files.Sync()
	}
	return err
}

// appendHeader appends the numbers. Those of version 2 are behind those of version 1,
// so that a release that does not know them says so.
func (m *Manifest) appendHeader(b []byte) []byte {
	for _, v := range []uint64{m.Number, m.Position(), m.High(), m.Last, m.Next, uint64(m.Saved), uint64(len(m.Items))} {
		b = binary.AppendUvarint(b, v)
	}
	if m.Seeded || m.Version > Version1 {
		b = binary.AppendUvarint(b, m.Seed)
	}
	if m.Version == Version1 {
		return b
	}
	for _, v := range []uint64{uint64(m.Version), flag(m.Seeded), m.Cluster, uint64(m.Node), uint64(len(m.Lanes))} {
		b = binary.AppendUvarint(b, v)
	}
	if m.Version >= Version3 {
		b = m.appendHeld(b)
	}
	return b
}

// appendHeld appends the shards that are whole.
func (m *Manifest) appendHeld(b []byte) []byte {
	b = binary.AppendUvarint(b, flag(m.Fetched))
	b = binary.AppendUvarint(b, uint64(len(m.Held)))
	for _, v := range m.Held {
		b = binary.AppendUvarint(b, uint64(v.Shard))
		b = binary.AppendUvarint(b, v.Since)
	}
	return b
}

// readHeld reads what appendHeld wrote.
func (m *Manifest) readHeld(c *wire.Reader) {
	fetched, last := c.Uvarint(), -1
	if m.Fetched = fetched == 1; fetched > 1 {
		c.Bad = true
	}
	for n := c.Uvarint(); n > 0 && !c.Bad; n-- {
		shard, since := c.Uvarint(), c.Uvarint()
		if shard >= placement.Shards || int(shard) <= last || since == 0 {
			c.Bad = true
			return
		}
		last = int(shard)
		m.Held = append(m.Held, roster.Held{Shard: last, Since: since})
	}
}

func flag(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}

func (l *Lane) append(b []byte) []byte {
	b = binary.AppendUvarint(b, l.Seq)
	b = binary.AppendUvarint(b, l.High)
	return append(b, l.State...)
}

// What has become of an item, behind its kind.
const (
	itemGone      = 1
	itemElsewhere = 2
)

func (m *Manifest) appendItem(b []byte, it *Item) []byte {
	fate := byte(flag(it.Gone))
	if it.Elsewhere {
		fate = itemElsewhere
	}
	b = binary.AppendUvarint(b, it.ID)
	b = append(b, byte(it.Kind), fate)
	b = binary.AppendVarint(b, it.Deadline)
	b = wire.AppendBytes(b, it.Name)
	if m.Version >= Version3 {
		b = binary.AppendUvarint(b, uint64(it.Shard))
	}
	if it.Elsewhere {
		return wire.AppendBytes(b, it.About)
	}
	b = binary.AppendUvarint(b, it.File)
	b = binary.AppendUvarint(b, it.Size)
	if m.Version > Version1 {
		b = binary.AppendUvarint(b, uint64(it.Lane))
		b = binary.AppendUvarint(b, it.Version)
	}
	return binary.AppendUvarint(b, it.Position-m.Lanes[it.Lane].Seq)
}

// Read reads the manifest of a folder. It returns nil if there is none.
func Read(files folder.Folder) (*Manifest, error) {
	r, err := files.Open(folder.Manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	m, err := Decode(r)
	if err != nil {
		return nil, &folder.Damage{File: folder.Manifest, Err: err}
	}
	return m, nil
}

// Decode decodes a manifest. The error wraps bloomery.ErrCorrupt or
// bloomery.ErrVersion.
func Decode(r folder.Reader) (*Manifest, error) {
	f := folder.NewFrameReader(r, folder.ManifestFrame, folder.AnyNumber)
	fr, err := f.Next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("offset 0: %w: empty", bloomery.ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	lanes, count, err := m.decodeHeader(fr)
	if err != nil {
		return nil, fmt.Errorf("offset 0: %w", err)
	}
	for i := range lanes {
		at := f.Off
		if fr, err = f.Next(); errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("offset %d: %w: lane %d is missing", at, bloomery.ErrCorrupt, i)
		}
		if err == nil && !m.decodeLane(i, fr.Body) {
			err = fmt.Errorf("offset %d: %w: lane %d", at, bloomery.ErrCorrupt, i)
		}
		if err != nil {
			return nil, err
		}
	}
	for {
		at := f.Off
		fr, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = m.decodeItems(fr.Body, at)
		}
		if err != nil {
			return nil, err
		}
	}
	if uint64(len(m.Items)) != count {
		return nil, fmt.Errorf("offset %d: %w: %d names, want %d", f.Off, bloomery.ErrCorrupt, len(m.Items), count)
	}
	return m, nil
}

// decodeHeader decodes the numbers, and returns how many lanes and items follow.
func (m *Manifest) decodeHeader(fr folder.Frame) (lanes, count uint64, err error) {
	c := wire.Reader{Rest: fr.Body}
	m.Number = c.Uvarint()
	first := Lane{Seq: c.Uvarint(), High: c.Uvarint()}
	m.Last, m.Next, m.Saved, count = c.Uvarint(), c.Uvarint(), int64(c.Uvarint()), c.Uvarint()
	if m.Seeded = len(c.Rest) > 0; m.Seeded {
		m.Seed = c.Uvarint()
	}
	m.Version, m.Lanes = Version1, []Lane{first}
	seeded, node := uint64(0), uint64(0)
	if len(c.Rest) > 0 {
		v := c.Uvarint()
		if (v < Version2 || v > Version3) && !c.Bad {
			return 0, 0, fmt.Errorf("%w: a header with more fields than this release knows: a later one is needed", bloomery.ErrVersion)
		}
		m.Version = int(v)
		seeded, m.Cluster, node, lanes = c.Uvarint(), c.Uvarint(), c.Uvarint(), c.Uvarint()
		m.Seeded, m.Node = seeded == 1, uint32(node)
	}
	if m.Version >= Version3 {
		m.readHeld(&c)
	}
	if !c.Bad && len(c.Rest) > 0 {
		return 0, 0, fmt.Errorf("%w: a header with more fields than this release knows: a later one is needed", bloomery.ErrVersion)
	}
	if c.Bad || m.Number != fr.A || first.High < first.Seq || seeded > 1 || node != uint64(m.Node) || m.Version > Version1 && lanes == 0 {
		return 0, 0, fmt.Errorf("%w: header", bloomery.ErrCorrupt)
	}
	return lanes, count, nil
}

// decodeLane adds the next lane. The positions of the first are in the header too.
func (m *Manifest) decodeLane(i uint64, body []byte) bool {
	c := wire.Reader{Rest: body}
	l := Lane{Seq: c.Uvarint(), High: c.Uvarint()}
	if c.Bad || l.High < l.Seq {
		return false
	}
	l.State = slices.Clone(c.Rest)
	if i > 0 {
		m.Lanes = append(m.Lanes, l)
		return true
	}
	same := l.Seq == m.Position() && l.High == m.High()
	m.Lanes[0] = l
	return same
}

// decodeItems adds the items of a frame.
func (m *Manifest) decodeItems(body []byte, at int64) error {
	for c := (wire.Reader{Rest: body}); len(c.Rest) > 0; {
		it, ok := readItem(&c, m)
		if !ok || len(m.Items) > 0 && m.Items[len(m.Items)-1].ID >= it.ID {
			return fmt.Errorf("offset %d: %w: item", at, bloomery.ErrCorrupt)
		}
		if !contents.Known(it.Kind) {
			return fmt.Errorf("offset %d: %w: %q is of kind %d, which this release does not have: a later one is needed", at, bloomery.ErrVersion, it.Name, it.Kind)
		}
		m.Items = append(m.Items, it)
	}
	return nil
}

// readItem reads the next item of m.
func readItem(c *wire.Reader, m *Manifest) (it Item, ok bool) {
	it.ID = c.Uvarint()
	flags := c.Take(2)
	it.Deadline = c.Varint()
	it.Name = string(c.Bytes())
	shard := uint64(0)
	if m.Version >= Version3 {
		shard = c.Uvarint()
	}
	if c.Bad || shard >= placement.Shards || it.ID > m.Last {
		return it, false
	}
	it.Kind, it.Shard = catalog.Kind(flags[0]), int(shard)
	if it.Elsewhere = flags[1] == itemElsewhere && m.Version >= Version3; it.Elsewhere {
		it.About = slices.Clone(c.Bytes())
		return it, !c.Bad
	}
	it.File, it.Size = c.Uvarint(), c.Uvarint()
	lane := uint64(0)
	if m.Version > Version1 {
		lane, it.Version = c.Uvarint(), c.Uvarint()
	}
	behind := c.Uvarint()
	if c.Bad || lane >= uint64(len(m.Lanes)) {
		return it, false
	}
	it.Gone, it.Lane = flags[1] == itemGone, int(lane)
	l := &m.Lanes[lane]
	it.Position = l.Seq + behind
	made := it.File < m.Next || it.Gone && it.File == 0
	return it, flags[1] <= itemGone && behind <= l.High-l.Seq && made
}
