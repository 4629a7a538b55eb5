package snapshot

// How part files are written.

import (
	"encoding/binary"
	"errors"
	"sync"
	"unsafe"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// A part file holds contents in pieces. The body of a frame is the id of a
// filter or string, the length of its contents, where in them this piece
// belongs, and the piece. The pieces of one id follow each other, the one at 0
// first, the others in any order.

// partsWriter writes part files: small contents are packed into one, large ones
// have one each.
type partsWriter struct {
	saver    *Saver
	next     uint64
	made     map[uint64]uint64 // size by number
	pack     *folder.FrameWriter
	unsynced int64
	syncing  sync.WaitGroup
	failed   error // of a sync, which may report it only once; after syncing
	scratch  []byte
	pieces   []piece
}

type piece struct {
	off  int64
	data []byte
}

func newPartsWriter(s *Saver, next uint64) *partsWriter {
	return &partsWriter{saver: s, next: next, made: map[uint64]uint64{}}
}

// minPiece is the least room that contents.Frozen.Next needs.
const minPiece = 4 << 10

// gather copies pieces of a filter, most bytes of them. The caller holds the
// lock of the filter. It reports whether there may be more.
func (w *partsWriter) gather(f contents.Frozen, most int) bool {
	w.pieces = w.pieces[:0]
	if len(w.scratch) < most {
		w.scratch = make([]byte, most)
	}
	for n := 0; most-n >= minPiece; {
		data, off := f.Next(w.scratch[n:most:most])
		if len(data) == 0 {
			return false
		}
		w.pieces = append(w.pieces, piece{off, data})
		n += len(data)
	}
	return true
}

// small writes the pieces that were gathered, which are all.
func (w *partsWriter) small(it *Item, size int64) error {
	f, err := w.packed()
	if err != nil {
		return err
	}
	return w.write(f, it, uint64(size))
}

// large writes a filter while it changes.
func (w *partsWriter) large(it *Item, z *freeze, size int64) error {
	f, err := w.create()
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		more = z.progress(w)
		err = w.write(f, it, uint64(size))
	}
	return errors.Join(err, w.finish(f))
}

// discard removes the file of a filter that is gone: it may not be whole.
func (w *partsWriter) discard(it *Item) {
	if it.Size > 0 {
		delete(w.made, it.File)
		_ = w.saver.config.Files.Remove(folder.PartName(it.File)) // nothing needs it
	}
	it.File, it.Size = 0, 0
}

// text writes a string.
func (w *partsWriter) text(it *Item, s string) (err error) {
	large := len(s) > smallPart
	begin := w.packed
	if large {
		begin = w.create
	}
	f, err := begin()
	if err != nil {
		return err
	}
	for at := 0; err == nil && (at < len(s) || at == 0); at += pieceBytes {
		text := s[at:min(at+pieceBytes, len(s))]
		w.pieces = append(w.pieces[:0], piece{int64(at), unsafe.Slice(unsafe.StringData(text), len(text))}) // it is only read
		err = w.write(f, it, uint64(len(s)))
	}
	if large {
		err = errors.Join(err, w.finish(f))
	}
	return err
}

// write writes the pieces that were gathered.
func (w *partsWriter) write(f *folder.FrameWriter, it *Item, size uint64) error {
	from := f.Size
	for _, p := range w.pieces {
		b := f.Body()
		b = binary.AppendUvarint(b, it.ID)
		b = binary.AppendUvarint(b, size)
		b = binary.AppendUvarint(b, uint64(p.off))
		if err := f.Seal(append(b, p.data...)); err != nil {
			return err
		}
		if w.saver.config.Sums {
			it.Sum = addSum(it.Sum, p.off, p.data)
		}
	}
	it.File = f.Number
	it.Size += uint64(f.Size - from)
	if w.unsynced += f.Size - from; w.unsynced < syncBytes {
		return nil
	}
	w.unsynced = 0
	w.syncing.Wait() // one at a time
	if w.failed != nil {
		return w.failed
	}
	w.syncing.Go(func() { w.failed = f.File.Sync() })
	return nil
}

// packed returns the file for small contents.
func (w *partsWriter) packed() (*folder.FrameWriter, error) {
	if w.pack != nil && w.pack.Size < packBytes {
		return w.pack, nil
	}
	if err := w.close(); err != nil {
		return nil, err
	}
	f, err := w.create()
	w.pack = f
	return f, err
}

func (w *partsWriter) create() (*folder.FrameWriter, error) {
	f, err := w.saver.config.Files.Create(folder.PartName(w.next))
	if err != nil {
		return nil, err
	}
	w.made[w.next] = 0
	fw := folder.NewFrameWriter(f, folder.PartFrame, w.next)
	w.next++
	return fw, nil
}

// finish makes a file durable and closes it.
func (w *partsWriter) finish(f *folder.FrameWriter) error {
	w.made[f.Number] = uint64(f.Size)
	err := f.Flush()
	w.syncing.Wait()
	if err = errors.Join(err, w.failed); err == nil {
		err = f.File.Sync()
	}
	return errors.Join(err, f.File.Close())
}

// close finishes the file for small contents.
func (w *partsWriter) close() error {
	if w.pack == nil {
		return nil
	}
	f := w.pack
	w.pack = nil
	return w.finish(f)
}
