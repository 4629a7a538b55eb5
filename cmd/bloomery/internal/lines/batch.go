// Batch, records of a file that follow each other.

package lines

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery/internal/kernel"
)

// Batch is some records of one file that follow each other. It is valid until
// the function that it was given to returns, and may be changed meanwhile.
type Batch struct {
	// Name is the file, as it was given.
	Name string
	// First reports whether the batch is the first of its file.
	First bool
	// Offset is where the batch begins in the file, after decompression.
	Offset int64
	// Header is the first record of the file with its separator, if Input.Header.
	Header []byte
	// Records are the records without their separators, slices of Data; those of text also without
	// a carriage return in front of the separator.
	Records [][]byte
	// Data holds all records, none if the file has only a header; each has its separator behind it, also the last
	// one of a file that ends without.
	Data []byte

	buf       []byte   // what Data lies in
	ends      []uint64 // marks of separators
	located   *Key     // Input.Named with the columns of this file
	second    *Key     // Input.Second with the columns of this file
	arguments bool     // records were given as arguments
}

// Located returns a key, Input.Named with its columns as they lie in the file of
// the batch.
func (b *Batch) Located(k *Key) *Key {
	switch {
	case !k.Columns.Named():
		return k
	case b.located == nil:
		panic("lines: columns have names, and the input does not know: set Input.Named")
	}
	return b.located
}

// Second returns Input.Second with its columns as they lie in the file of the batch.
func (b *Batch) Second() *Key { return b.second }

// Headers returns how many records of the file are no lines: 1 if it has a header.
func (b *Batch) Headers() uint64 {
	if b.Header == nil {
		return 0
	}
	return 1
}

// Span returns the records from i up to, not including, j, as they stand, each with
// its separator: what to write if all of them are wanted. It is a slice of Data,
// provided that Records is as it was.
func (b *Batch) Span(i, j int) []byte {
	if i >= j {
		return nil
	}
	return b.Data[b.at(i) : b.at(j-1)+b.size(b.Records[j-1])]
}

// Where names a record for people: its file, and where it begins there.
func (b *Batch) Where(i int) string {
	if b.arguments {
		return "an argument"
	}
	return fmt.Sprintf("%s: the line at byte %d", b.Name, b.Offset+int64(b.at(i)))
}

// keepStep is how many bytes Keep moves at once.
const keepStep = 64

// Keep moves the wanted records together, to the front of Data, and returns their
// number and bytes, each record as it stands, with its separator. Data and Records are of no use then.
//
// Whether a record is wanted cannot be foretold, and a wrong guess of the processor takes
// longer than the move of a short record: all of them are moved, and the next one takes
// the place of one that is not wanted.
func (b *Batch) Keep(wanted []bool) (n int, data []byte) {
	if n = slices.Index(wanted, false); n < 0 {
		return len(wanted), b.Data
	}
	at := b.at(n)
	from := at
	for i := n; i < len(b.Records); i++ {
		next := len(b.Data)
		if i+1 < len(b.Records) {
			next = b.at(i + 1)
		}
		size, is := next-from, 0
		if wanted[i] {
			is = 1
		}
		switch {
		case size <= keepStep && at+keepStep <= from && from+keepStep <= len(b.Data):
			move((*[keepStep]byte)(b.Data[at:]), (*[keepStep]byte)(b.Data[from:]))
		case is != 0:
			copy(b.Data[at:], b.Data[from:from+size])
		}
		at += size & -is
		n += is
		from = next
	}
	return n, b.Data[:at]
}

// move copies bytes to a place that does not overlap theirs: without a call, which is
// what the compiler makes of an assignment.
func move(to, from *[keepStep]byte) {
	for i := 0; i < keepStep; i += 32 {
		binary.LittleEndian.PutUint64(to[i:], binary.LittleEndian.Uint64(from[i:]))
		binary.LittleEndian.PutUint64(to[i+8:], binary.LittleEndian.Uint64(from[i+8:]))
		binary.LittleEndian.PutUint64(to[i+16:], binary.LittleEndian.Uint64(from[i+16:]))
		binary.LittleEndian.PutUint64(to[i+24:], binary.LittleEndian.Uint64(from[i+24:]))
	}
}

// at returns where record i begins in Data: the capacity of a slice is
// what is behind its beginning.
func (b *Batch) at(i int) int { return cap(b.Data) - cap(b.Records[i]) }

// split cuts Data into records.
func (b *Batch) split(in *Input) error {
	b.Records = b.Records[:0]
	if in.Quoted == "" {
		b.splitPlain(in.separator(), in.raw())
	} else {
		for data := b.Data; len(data) > 0; {
			n, _ := recordEnd(data, in.Quoted)
			b.Records = append(b.Records, in.line(data[:n]))
			data = data[n+1:]
		}
	}
	for i, r := range b.Records {
		if len(r) > in.maxLine() {
			return tooLong(b.Name, b.Offset+int64(b.at(i)), in.maxLine())
		}
	}
	return nil
}

// splitPlain is split for records that end at every separator. All separators are
// looked for at once: lines are short, and one search for each takes longer.
func (b *Batch) splitPlain(separator byte, raw bool) {
	words := (len(b.Data) + kernel.Marked - 1) / kernel.Marked
	b.ends = slices.Grow(b.ends[:0], words)[:words]
	kernel.Marks(b.ends, b.Data, separator)
	raw = raw || bytes.IndexByte(b.Data, '\r') < 0
	from := 0
	for i, ends := range b.ends {
		for ; ends != 0; ends &= ends - 1 {
			end := i*kernel.Marked + bits.TrailingZeros64(ends)
			record := b.Data[from:end]
			if !raw {
				record = withoutCR(record)
			}
			b.Records = append(b.Records, record)
			from = end + 1
		}
	}
}

func tooLong(name string, offset int64, longest int) error {
	return fmt.Errorf("%s: %w: the line at byte %d has more than %d bytes", name, ErrTooLong, offset, longest)
}
