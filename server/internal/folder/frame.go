package folder

// Frames: how every file is cut, checked and read.

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/bloomery/bloomery"
)

// Every file is a sequence of frames:
//
//	 0  4 bytes  "blmr"
//	 4  u8       version, 1
//	 5  u8       kind: 1 log, 2 part, 3 manifest
//	 6  u16      0
//	 8  u32      length of the body
//	12  u32      CRC-32C of all else, header and body
//	16  u64      a: log: position of the first record; else the number of the file
//	24  u64      b: log: up to which position the log was durable; else the
//	             offset of the frame in its file
//	32  body
//
// All numbers are little-endian. A frame says where it belongs, so one that is
// intact but in the wrong place is noticed too. The durable position in the
// frames of a log separates damage from a torn end: a frame that was durable when a
// later one was written cannot be missing because the power went.
const (
	frameMagic   = "blmr"
	frameVersion = 1
	FrameHeader  = 32
	maxFrame     = 1 << 30 // length of a body; the largest record is half of it
)

// The kinds of frames.
const (
	LogFrame byte = iota + 1
	PartFrame
	ManifestFrame
)

// castagnoli is read only once made.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Frame is a decoded frame.
type Frame struct {
	Kind byte
	A, B uint64
	Body []byte
}

// SealFrame makes a frame of buf, which begins with FrameHeader bytes of room, and
// of what follows it.
func SealFrame(buf []byte, kind byte, a, b uint64, more ...[]byte) {
	le := binary.LittleEndian
	copy(buf, frameMagic)
	buf[4], buf[5], buf[6], buf[7] = frameVersion, kind, 0, 0
	n := len(buf) - FrameHeader
	for _, m := range more {
		n += len(m)
	}
	le.PutUint32(buf[8:], uint32(n))
	le.PutUint64(buf[16:], a)
	le.PutUint64(buf[24:], b)
	sum := frameSum(buf)
	for _, m := range more {
		sum = crc32.Update(sum, castagnoli, m)
	}
	le.PutUint32(buf[12:], sum)
}

func frameSum(buf []byte) uint32 {
	return crc32.Update(crc32.Checksum(buf[:12], castagnoli), castagnoli, buf[16:])
}

// FrameLength returns the length of the body that a header has.
func FrameLength(header []byte) (int, error) {
	if string(header[:len(frameMagic)]) != frameMagic {
		return 0, fmt.Errorf("%w: no frame", bloomery.ErrCorrupt)
	}
	n := binary.LittleEndian.Uint32(header[8:])
	if n > maxFrame {
		return 0, fmt.Errorf("%w: frame of %d bytes", bloomery.ErrCorrupt, n)
	}
	return int(n), nil
}

// ParseFrame decodes the frame at the start of data. The body is a slice of it.
// The error wraps bloomery.ErrCorrupt or bloomery.ErrVersion.
func ParseFrame(data []byte, kind byte) (Frame, error) {
	if len(data) < FrameHeader {
		return Frame{}, fmt.Errorf("%w: frame cut short", bloomery.ErrCorrupt)
	}
	n, err := FrameLength(data)
	if err != nil {
		return Frame{}, err
	}
	if n > len(data)-FrameHeader {
		return Frame{}, fmt.Errorf("%w: frame cut short", bloomery.ErrCorrupt)
	}
	data = data[:FrameHeader+n]
	le := binary.LittleEndian
	if frameSum(data) != le.Uint32(data[12:]) {
		return Frame{}, fmt.Errorf("%w: checksum", bloomery.ErrCorrupt)
	}
	if data[4] != frameVersion {
		return Frame{}, fmt.Errorf("%w %d", bloomery.ErrVersion, data[4])
	}
	if data[5] != kind || data[6] != 0 || data[7] != 0 {
		return Frame{}, fmt.Errorf("%w: frame of kind %d, want %d", bloomery.ErrCorrupt, data[5], kind)
	}
	return Frame{Kind: data[5], A: le.Uint64(data[16:]), B: le.Uint64(data[24:]), Body: data[FrameHeader:]}, nil
}

// FindFrame returns the offset of the next intact frame in data, -1 if there is
// none.
func FindFrame(data []byte, kind byte) int {
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte(frameMagic))
		if i < 0 {
			return -1
		}
		at += i
		if _, err := ParseFrame(data[at:], kind); err == nil {
			return at
		}
		at++
	}
}

// FrameWriter writes the frames of a file that is no log. Make it with
// NewFrameWriter.
//
// A writer needs exclusion.
type FrameWriter struct {
	File   File
	Number uint64
	Size   int64 // of the file, with what is buffered

	kind byte
	buf  []byte // frames, the last one open
	open int    // where it begins
}

// NewFrameWriter returns a writer of frames of a kind into a file of a number.
func NewFrameWriter(file File, kind byte, number uint64) *FrameWriter {
	return &FrameWriter{File: file, Number: number, kind: kind}
}

// writerBuffer is how much is written at a time.
const writerBuffer = 1 << 20

// Body begins a frame and returns where its body is appended.
func (w *FrameWriter) Body() []byte {
	w.open = len(w.buf)
	w.buf = append(w.buf, make([]byte, FrameHeader)...)
	return w.buf
}

// Seal ends the frame whose body was appended to what Body returned.
func (w *FrameWriter) Seal(buf []byte) error {
	SealFrame(buf[w.open:], w.kind, w.Number, uint64(w.Size))
	w.Size += int64(len(buf) - w.open)
	w.buf = buf
	if len(w.buf) < writerBuffer {
		return nil
	}
	return w.Flush()
}

// Flush writes what is buffered.
func (w *FrameWriter) Flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.File.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// AnyNumber makes a FrameReader take the number of a file from its first frame.
const AnyNumber = math.MaxUint64

// FrameReader reads the frames of a file that is no log, one after the other. Make
// it with NewFrameReader.
//
// A reader needs exclusion.
type FrameReader struct {
	Off int64 // of the next frame

	r      Reader
	in     *bufio.Reader // frames of small filters are small
	kind   byte
	number uint64
	buf    []byte
}

// NewFrameReader returns a reader of frames of a kind from a file of a number.
func NewFrameReader(r Reader, kind byte, number uint64) *FrameReader {
	return &FrameReader{r: r, kind: kind, number: number}
}

// firstFrame is the body that a reader has room for at first: that of most frames
// of a large filter.
const firstFrame = 256<<10 + 4096

// Next returns the next frame, io.EOF behind the last one. Its body is valid
// until the next call.
func (f *FrameReader) Next() (Frame, error) {
	if f.Off == f.r.Size() {
		return Frame{}, io.EOF
	}
	if f.buf == nil {
		f.in = bufio.NewReaderSize(f.r, int(min(64<<10, f.r.Size())))
		f.buf = make([]byte, FrameHeader, min(firstFrame, max(f.r.Size(), FrameHeader)))
	}
	f.buf = f.buf[:FrameHeader]
	if _, err := io.ReadFull(f.in, f.buf); err != nil {
		return Frame{}, f.fail(cutShort(err))
	}
	n, err := FrameLength(f.buf)
	if err != nil {
		return Frame{}, f.fail(err)
	}
	if int64(n) > f.r.Size()-f.Off-FrameHeader {
		return Frame{}, f.fail(fmt.Errorf("%w: frame cut short", bloomery.ErrCorrupt))
	}
	if cap(f.buf) < FrameHeader+n {
		f.buf = append(make([]byte, 0, FrameHeader+n), f.buf...)
	}
	f.buf = f.buf[:FrameHeader+n]
	if _, err := io.ReadFull(f.in, f.buf[FrameHeader:]); err != nil {
		return Frame{}, f.fail(cutShort(err))
	}
	fr, err := ParseFrame(f.buf, f.kind)
	if err != nil {
		return Frame{}, f.fail(err)
	}
	if f.number == AnyNumber {
		f.number = fr.A
	}
	if fr.A != f.number || fr.B != uint64(f.Off) {
		return Frame{}, f.fail(fmt.Errorf("%w: frame of another place", bloomery.ErrCorrupt))
	}
	f.Off += int64(len(f.buf))
	return fr, nil
}

func (f *FrameReader) fail(err error) error { return fmt.Errorf("offset %d: %w", f.Off, err) }

// cutShort is the error for a file that ended too early.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: frame cut short", bloomery.ErrCorrupt)
	}
	return err
}
