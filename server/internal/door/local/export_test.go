package local

import (
	"bytes"
	"io"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Manual makes a door that does nothing in the background.
func (c Config) Manual() Config {
	c.manual = true
	return c
}

// Small makes log files end at n bytes, and parts large from small bytes on.
func (c Config) Small(n, small int64) Config {
	c.fileAt, c.small = n, small
	return c
}

// Skip leaves out a sync point.
func (c Config) Skip(point int) Config {
	c.skip = syncPoint(point)
	return c
}

// SyncPoints names all sync points by their number.
var SyncPoints = map[int]string{
	int(syncLog): "log", int(syncLogFolder): "log-folder", int(syncRotated): "rotated", int(syncCut): "cut",
	int(syncRecovered): "recovered", int(syncPart): "part", int(syncPartNames): "part-names", int(syncBarrier): "barrier",
	int(syncManifest): "manifest", int(syncRenamed): "renamed",
}

// LastSyncPoint is how many there are.
const LastSyncPoint = int(syncPoints) - 1

// Step does what is due.
func (d *Door) Step() error { return d.log.step() }

// Look looks at the folder, and reports whether a snapshot is needed.
func (d *Door) Look() bool { return d.look() }

// SealLog makes a frame of a log.
func SealLog(body []byte, position, durable uint64) []byte {
	b := append(make([]byte, frameHeader), body...)
	sealFrame(b, logFrame, position, durable)
	return b
}

// ParseFrame decodes a frame and encodes it again.
func ParseFrame(data []byte) ([]byte, error) {
	f, err := parseFrame(data, logFrame)
	if err != nil {
		return nil, err
	}
	return SealLog(f.body, f.a, f.b), nil
}

type byteReader struct {
	*bytes.Reader
	io.Closer
}

func (r byteReader) Close() error { return nil }

// LaterManifest returns a manifest with one name of a kind, and more bytes in its
// header.
func LaterManifest(kind catalog.Kind, more []byte) []byte {
	m := &manifest{number: 1, next: 1, last: 1, items: []item{{id: 1, kind: kind, name: "k", gone: true}}}
	files := &Memory{}
	if err := writeManifest(files, m, func(_ syncPoint, f File) error { return f.Sync() }); err != nil {
		panic(err)
	}
	data := files.Bytes(manifestTemp)
	n, err := frameLength(data)
	if err != nil {
		panic(err)
	}
	first := append(data[:frameHeader+n:frameHeader+n], more...)
	sealFrame(first, manifestFrame, m.number, 0)
	w := frameWriter{file: &memoryFile{memory: &Memory{}}, kind: manifestFrame, number: m.number, size: int64(len(first))}
	rest := append(w.body(), data[frameHeader+n+frameHeader:]...)
	if err := w.seal(rest); err != nil {
		panic(err)
	}
	return append(first, w.buf...)
}

// ReadManifest decodes a manifest and encodes it again.
func ReadManifest(data []byte) ([]byte, error) {
	m, err := decodeManifest(byteReader{Reader: bytes.NewReader(data)})
	if err != nil {
		return nil, err
	}
	files := &Memory{}
	err = writeManifest(files, m, func(_ syncPoint, f File) error { return f.Sync() })
	return files.Bytes(manifestTemp), err
}

// ReadParts decodes the bodies of a part file's frames, as contents of ids 1 to 3:
// a Bloom filter, a cuckoo filter and a string.
func ReadParts(bodies ...[]byte) error {
	m := &manifest{items: []item{
		{id: 1, kind: catalog.Bloom, name: "a"}, {id: 2, kind: catalog.Cuckoo, name: "b"}, {id: 3, kind: catalog.String, name: "c"},
	}}
	l := &loaded{state: store.New(), values: make([]any, len(m.items))}
	a := assembly{loaded: l}
	for _, b := range bodies {
		if err := a.take(b, 1<<20, m, 0); err != nil {
			return err
		}
	}
	if err := a.finish(); err != nil {
		return err
	}
	_, err := l.fill(m, l.state)
	return err
}
