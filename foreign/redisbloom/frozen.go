package redisbloom

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

const pageBytes = 64 << 10 // what one write may have to copy

// Frozen is a filter as it was at one moment, read as the bytes of its binary
// form while the filter goes on changing. A writer that is about to change a
// page of 64 KiB that was not read yet puts its old contents aside first: a
// snapshot costs no copy of the filter, and no pause.
//
//	read so far          to be read
//	├───────────────────┼────────────────────────────────────┤
//	 page   page   page   page   page   page   page   page
//	                             └ put aside by a writer
//
// Freeze and Close need exclusion, like a write. Read needs that no writer is
// active, like any reader: take the lock of the filter for each call. Only one
// goroutine may read.
type Frozen struct {
	owner  **Frozen
	prefix []byte
	arrays [][]byte
	saved  map[page][]byte
	part   int // of the stream: 0 prefix, then the arrays, then the checksum
	off    int // in that part
	crc    uint32
}

var _ io.ReadCloser = (*Frozen)(nil)

type page struct{ array, number int }

// Freeze begins a snapshot. The error is ErrFrozen if the last one was not
// closed.
func (b *Bloom) Freeze() (*Frozen, error) { return freeze(&b.frozen, b.prefix(), b.arrays()) }

// Freeze begins a snapshot. The error is ErrFrozen if the last one was not
// closed.
func (c *Cuckoo) Freeze() (*Frozen, error) { return freeze(&c.frozen, c.prefix(), c.arrays()) }

func freeze(owner **Frozen, prefix []byte, arrays [][]byte) (*Frozen, error) {
	if *owner != nil {
		return nil, ErrFrozen
	}
	*owner = &Frozen{owner: owner, prefix: prefix, arrays: arrays, saved: map[page][]byte{}}
	return *owner, nil
}

// Len returns the length of the whole stream.
func (f *Frozen) Len() int64 {
	n := int64(len(f.prefix) + crcBytes)
	for _, a := range f.arrays {
		n += int64(len(a))
	}
	return n
}

// Read fills p with the next bytes of the binary form. It returns io.EOF after
// the last one, and no other error.
func (f *Frozen) Read(p []byte) (n int, err error) {
	for n < len(p) && f.part <= len(f.arrays)+1 {
		src := f.source()
		m := copy(p[n:], src)
		if f.part <= len(f.arrays) {
			f.crc = crc32.Update(f.crc, castagnoli, src[:m])
		}
		n += m
		f.advance(m)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// source returns bytes at the reading position: up to the end of their page.
func (f *Frozen) source() []byte {
	switch {
	case f.part == 0:
		return f.prefix[f.off:]
	case f.part > len(f.arrays):
		return binary.LittleEndian.AppendUint32(nil, f.crc)[f.off:]
	}
	a := f.arrays[f.part-1]
	number := f.off / pageBytes
	if old, ok := f.saved[page{f.part - 1, number}]; ok {
		return old[f.off%pageBytes:]
	}
	return a[f.off:min((number+1)*pageBytes, len(a))]
}

// advance moves the reading position by m bytes, within a page.
func (f *Frozen) advance(m int) {
	f.off += m
	end := crcBytes
	switch {
	case f.part == 0:
		end = len(f.prefix)
	case f.part <= len(f.arrays):
		end = len(f.arrays[f.part-1])
		if f.off%pageBytes == 0 || f.off == end {
			delete(f.saved, page{f.part - 1, (f.off - 1) / pageBytes})
		}
	}
	if f.off == end {
		f.part, f.off = f.part+1, 0
	}
}

// save puts aside what data[off:off+n] holds, before it changes. Arrays that
// are younger than the snapshot, and pages that were read, are left alone.
func (f *Frozen) save(array int, data []byte, off, n int) {
	if n == 0 || array >= len(f.arrays) || &f.arrays[array][0] != &data[0] {
		return
	}
	for number := off / pageBytes; number <= (off+n-1)/pageBytes; number++ {
		from, to := number*pageBytes, min((number+1)*pageBytes, len(data))
		if array < f.part-1 || array == f.part-1 && to <= f.off {
			continue
		}
		key := page{array, number}
		if _, ok := f.saved[key]; !ok {
			f.saved[key] = append([]byte(nil), data[from:to]...)
		}
	}
}

// Close ends the snapshot, read to its end or not.
func (f *Frozen) Close() error {
	if *f.owner == f {
		*f.owner = nil
	}
	f.arrays, f.saved = nil, nil
	f.part = 2 // past the checksum
	return nil
}

// saveDigest puts aside the pages that adding d will change.
func (b *Bloom) saveDigest(d Digest) {
	l := &b.newest
	x := d.A
	for range l.hashes {
		b.frozen.save(len(b.older), l.data, int(rem(x, l.mod, l.inv)>>3), 1)
		x += d.B
	}
}
