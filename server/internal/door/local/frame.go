package local

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

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
// frames of a log tells damage from a torn end: a frame that was durable when a
// later one was written cannot be missing because the power went.
const (
	frameMagic   = "blmr"
	frameVersion = 1
	frameHeader  = 32
	maxFrame     = 1 << 30 // length of a body; the largest record is half of it
)

// The kinds of frames.
const (
	logFrame byte = iota + 1
	partFrame
	manifestFrame
)

// castagnoli is read only once made.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is a decoded frame.
type frame struct {
	kind byte
	a, b uint64
	body []byte
}

// sealFrame makes a frame of buf, which begins with frameHeader bytes of room, and
// of what follows it.
func sealFrame(buf []byte, kind byte, a, b uint64, more ...[]byte) {
	le := binary.LittleEndian
	copy(buf, frameMagic)
	buf[4], buf[5], buf[6], buf[7] = frameVersion, kind, 0, 0
	n := len(buf) - frameHeader
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

// frameLength returns the length of the body that a header tells.
func frameLength(header []byte) (int, error) {
	if string(header[:len(frameMagic)]) != frameMagic {
		return 0, fmt.Errorf("%w: no frame", bloomery.ErrCorrupt)
	}
	n := binary.LittleEndian.Uint32(header[8:])
	if n > maxFrame {
		return 0, fmt.Errorf("%w: frame of %d bytes", bloomery.ErrCorrupt, n)
	}
	return int(n), nil
}

// parseFrame decodes the frame at the start of data. The body is a slice of it.
// The error wraps bloomery.ErrCorrupt or bloomery.ErrVersion.
func parseFrame(data []byte, kind byte) (frame, error) {
	if len(data) < frameHeader {
		return frame{}, fmt.Errorf("%w: frame cut short", bloomery.ErrCorrupt)
	}
	n, err := frameLength(data)
	if err != nil {
		return frame{}, err
	}
	if n > len(data)-frameHeader {
		return frame{}, fmt.Errorf("%w: frame cut short", bloomery.ErrCorrupt)
	}
	data = data[:frameHeader+n]
	le := binary.LittleEndian
	if frameSum(data) != le.Uint32(data[12:]) {
		return frame{}, fmt.Errorf("%w: checksum", bloomery.ErrCorrupt)
	}
	if data[4] != frameVersion {
		return frame{}, fmt.Errorf("%w %d", bloomery.ErrVersion, data[4])
	}
	if data[5] != kind || data[6] != 0 || data[7] != 0 {
		return frame{}, fmt.Errorf("%w: frame of kind %d, want %d", bloomery.ErrCorrupt, data[5], kind)
	}
	return frame{kind: data[5], a: le.Uint64(data[16:]), b: le.Uint64(data[24:]), body: data[frameHeader:]}, nil
}

// findFrame returns the offset of the next intact frame in data, -1 if there is
// none.
func findFrame(data []byte, kind byte) int {
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte(frameMagic))
		if i < 0 {
			return -1
		}
		at += i
		if _, err := parseFrame(data[at:], kind); err == nil {
			return at
		}
		at++
	}
}

// frameWriter writes the frames of a file that is no log.
type frameWriter struct {
	file   File
	kind   byte
	number uint64
	size   int64  // of the file, with what is buffered
	buf    []byte // frames, the last one open
	open   int    // where it begins
}

// writerBuffer is how much is written at a time.
const writerBuffer = 1 << 20

// body begins a frame and returns where its body is appended.
func (w *frameWriter) body() []byte {
	w.open = len(w.buf)
	w.buf = append(w.buf, make([]byte, frameHeader)...)
	return w.buf
}

// seal ends the frame whose body was appended to what body returned.
func (w *frameWriter) seal(buf []byte) error {
	sealFrame(buf[w.open:], w.kind, w.number, uint64(w.size))
	w.size += int64(len(buf) - w.open)
	w.buf = buf
	if len(w.buf) < writerBuffer {
		return nil
	}
	return w.flush()
}

// flush writes what is buffered.
func (w *frameWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.file.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// frameReader reads the frames of a file that is no log, one after the other.
type frameReader struct {
	r         Reader
	in        *bufio.Reader // frames of small filters are small
	kind      byte
	number    uint64
	anyNumber bool // the first frame tells
	off       int64
	buf       []byte
}

// next returns the next frame, io.EOF behind the last one. Its body is valid
// until the next call.
func (f *frameReader) next() (frame, error) {
	if f.off == f.r.Size() {
		return frame{}, io.EOF
	}
	if f.buf == nil {
		f.in = bufio.NewReaderSize(f.r, int(min(64<<10, f.r.Size())))
		f.buf = make([]byte, frameHeader, min(pieceBytes+4096, max(f.r.Size(), frameHeader)))
	}
	f.buf = f.buf[:frameHeader]
	if _, err := io.ReadFull(f.in, f.buf); err != nil {
		return frame{}, f.fail(cutShort(err))
	}
	n, err := frameLength(f.buf)
	if err != nil {
		return frame{}, f.fail(err)
	}
	if int64(n) > f.r.Size()-f.off-frameHeader {
		return frame{}, f.fail(fmt.Errorf("%w: frame cut short", bloomery.ErrCorrupt))
	}
	if cap(f.buf) < frameHeader+n {
		f.buf = append(make([]byte, 0, frameHeader+n), f.buf...)
	}
	f.buf = f.buf[:frameHeader+n]
	if _, err := io.ReadFull(f.in, f.buf[frameHeader:]); err != nil {
		return frame{}, f.fail(cutShort(err))
	}
	fr, err := parseFrame(f.buf, f.kind)
	if err != nil {
		return frame{}, f.fail(err)
	}
	if f.anyNumber {
		f.anyNumber, f.number = false, fr.a
	}
	if fr.a != f.number || fr.b != uint64(f.off) {
		return frame{}, f.fail(fmt.Errorf("%w: frame of another place", bloomery.ErrCorrupt))
	}
	f.off += int64(len(f.buf))
	return fr, nil
}

func (f *frameReader) fail(err error) error { return fmt.Errorf("offset %d: %w", f.off, err) }

// cutShort is the error for a file that ended too early.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: frame cut short", bloomery.ErrCorrupt)
	}
	return err
}
