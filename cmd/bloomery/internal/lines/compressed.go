// Compressed files, known by their first bytes.

package lines

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// format is a way to compress a file.
type format struct {
	name string
	// starts lists how a file may start.
	starts []string
	// open decompresses a file; nil, and it is not read here.
	open func(io.Reader) (io.Reader, func(), error)
	// command decompresses a file to its standard output.
	command string
}

// formats are those that are known by the first bytes of a file. A file of zstd
// may start with a frame to be skipped, as those of pzstd do. The first block of
// bzip2, or its end if there is none, starts with a number of six bytes: a text
// may start with BZh1.
func formats() []format {
	zstdStarts, bzip2Starts := []string{"\x28\xb5\x2f\xfd"}, []string{}
	for i := range byte(16) {
		zstdStarts = append(zstdStarts, string([]byte{0x50 + i, 0x2a, 0x4d, 0x18}))
	}
	for level := '1'; level <= '9'; level++ {
		head := "BZh" + string(level)
		bzip2Starts = append(bzip2Starts, head+"\x31\x41\x59\x26\x53\x59", head+"\x17\x72\x45\x38\x50\x90")
	}
	return []format{
		{"gzip", []string{"\x1f\x8b"}, openGzip, "gzip -dc"},
		{"zstd", zstdStarts, openZstd, "zstd -dc"},
		{"bzip2", bzip2Starts, openBzip2, "bzip2 -dc"},
		{"xz", []string{"\xfd7zXZ\x00"}, nil, "xz -dc"},
		{"lz4", []string{"\x04\x22\x4d\x18"}, nil, "lz4 -dc"},
		{"zip", []string{"PK\x03\x04"}, nil, "unzip -p"},
	}
}

// magicSize is enough to recognize every format.
const magicSize = 10

// Compression returns the name of the format that a file with these first bytes
// is compressed in, and the command that decompresses it; both are empty if it
// is not compressed.
func Compression(head []byte) (name, command string) {
	f, _ := formatOf(head)
	return f.name, f.command
}

// FormatError is the error of a file whose compression, or encoding of text, is not
// read here. It wraps ErrFormat.
type FormatError struct {
	Format  string
	Command string // that writes what is in such a file to its standard output
	Text    bool   // it is an encoding of text
}

// Error implements error.
func (e *FormatError) Error() string {
	if e.Text {
		return "it is text in " + e.Format + ", which is not read here"
	}
	return "it is compressed by " + e.Format + ", which is not read here"
}

// Unwrap returns ErrFormat.
func (e *FormatError) Unwrap() error { return ErrFormat }

// formatOf returns the format that starts with head, and whether more bytes
// could make it one.
func formatOf(head []byte) (f format, undecided bool) {
	for _, f := range formats() {
		for _, start := range f.starts {
			if strings.HasPrefix(string(head), start) {
				return f, false
			}
			undecided = undecided || strings.HasPrefix(start, string(head))
		}
	}
	return format{}, undecided
}

// windowLimit is the memory that a file of zstd may ask for: that of zstd
// --long.
const windowLimit = 128 << 20

// decompressed returns what r holds, decompressed if it is compressed, and a
// function to be called at the end.
func decompressed(r io.Reader) (io.Reader, func(), error) {
	head, err := readHead(r, func(head []byte) bool {
		_, undecided := formatOf(head)
		return undecided
	})
	if err != nil {
		return nil, nil, err
	}
	r = io.MultiReader(bytes.NewReader(head), r)
	f, _ := formatOf(head)
	switch {
	case f.name == "":
		return r, func() {}, nil
	case f.open == nil:
		return nil, nil, &FormatError{Format: f.name, Command: f.command}
	}
	z, end, err := f.open(r)
	if err != nil {
		return nil, nil, damaged(f.name, err)
	}
	return &whole{z, f.name}, end, nil
}

func openGzip(r io.Reader) (io.Reader, func(), error) {
	in := bufio.NewReader(r)
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, nil, err
	}
	z.Multistream(false)
	return &gzipMembers{z, in}, func() {}, nil
}

// gzipMembers reads one member of a gzip file after the other. What follows the last
// is not taken for one that is truncated.
type gzipMembers struct {
	z  *gzip.Reader
	in *bufio.Reader
}

// Read implements io.Reader.
func (m *gzipMembers) Read(p []byte) (int, error) {
	n, err := m.z.Read(p)
	if n > 0 || !errors.Is(err, io.EOF) {
		return n, err
	}
	peeked, err := m.in.Peek(2)
	switch head := string(peeked); {
	case head == "":
		return 0, err // io.EOF, or why no more can be read
	case head[0] == 0 && m.padded():
		return 0, io.EOF
	case head != "\x1f\x8b":
		return 0, errTrailing
	}
	if err := m.z.Reset(m.in); err != nil {
		return 0, err
	}
	m.z.Multistream(false)
	return 0, nil
}

// padded reports whether all that follows is zeros, which fill the last block of a
// tape.
func (m *gzipMembers) padded() bool {
	for {
		switch b, err := m.in.ReadByte(); {
		case errors.Is(err, io.EOF):
			return true
		case err != nil || b != 0:
			return false
		}
	}
}

// errTrailing means that a file goes on behind its compressed data.
var errTrailing = errors.New("other bytes follow the gzip data, as if something was appended to the file")

func openZstd(r io.Reader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(windowLimit), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

func openBzip2(r io.Reader) (io.Reader, func(), error) {
	return bzip2.NewReader(bufio.NewReader(r)), func() {}, nil
}

// readHead reads the first bytes of a file: those of one read, and more only as long
// as what it is is undecided by these. So a line on a pipe does not wait for the next.
func readHead(r io.Reader, undecided func(head []byte) bool) ([]byte, error) {
	head := make([]byte, 0, magicSize)
	for range emptyReads {
		n, err := r.Read(head[len(head):magicSize])
		head = head[:len(head)+n]
		switch {
		case errors.Is(err, io.EOF):
			return head, nil
		case err != nil:
			return nil, err
		}
		if len(head) == magicSize || len(head) > 0 && !undecided(head) {
			return head, nil
		}
	}
	return nil, io.ErrNoProgress
}

// whole fills every block as far as it can: decompression comes in small parts.
type whole struct {
	r    io.Reader
	name string
}

func (w *whole) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		m, err := w.r.Read(p[n:])
		n += m
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return n, nil
		case errors.Is(err, io.EOF):
			return 0, io.EOF
		case err != nil:
			return n, damaged(w.name, err)
		}
	}
	return n, nil
}

// damaged returns the error of compressed data that cannot be read: ErrCorrupt,
// unless the file system failed.
func damaged(format string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the %s data is truncated", ErrCorrupt, format)
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
