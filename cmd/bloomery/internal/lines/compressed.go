package lines

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// The first bytes of compressed files. A file of zstd may begin with a frame
// to be skipped, as those of pzstd do; its first byte is 0x50 to 0x5f.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	skipMagic = "\x2a\x4d\x18" // behind the first byte
	magicSize = 4
)

// windowLimit is the memory that a file of zstd may ask for: that of zstd
// --long.
const windowLimit = 128 << 20

// decompressed returns what r holds, decompressed if it is compressed, and a
// function to be called at the end.
func decompressed(r io.Reader) (io.Reader, func(), error) {
	head, err := readHead(r)
	if err != nil {
		return nil, nil, err
	}
	r = io.MultiReader(bytes.NewReader(head), r)
	switch {
	case isGzip(head):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, damaged("gzip", err)
		}
		return &whole{z, "gzip"}, func() {}, nil
	case isZstd(head):
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(windowLimit), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, damaged("zstd", err)
		}
		return &whole{z, "zstd"}, z.Close, nil
	}
	return r, func() {}, nil
}

// readHead reads what tells a compressed file: one read's worth, and more only
// if that is too short to tell. So a line on a pipe does not wait for the next.
func readHead(r io.Reader) ([]byte, error) {
	head := make([]byte, 0, magicSize)
	for range emptyReads {
		n, err := r.Read(head[len(head):magicSize])
		head = head[:len(head)+n]
		switch {
		case errors.Is(err, io.EOF):
			return head, nil
		case err != nil:
			return nil, err
		case len(head) == magicSize || !undecided(head):
			return head, nil
		}
	}
	return nil, io.ErrNoProgress
}

// undecided reports whether more bytes could make head that of a compressed
// file.
func undecided(head []byte) bool {
	begins := func(magic string, head []byte) bool {
		n := min(len(magic), len(head))
		return string(head[:n]) == magic[:n]
	}
	return begins(gzipMagic, head) || begins(zstdMagic, head) ||
		len(head) > 0 && head[0]&0xf0 == 0x50 && begins(skipMagic, head[1:])
}

func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte(gzipMagic)) }

func isZstd(head []byte) bool { return len(head) == magicSize && !isGzip(head) && undecided(head) }

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

// damaged tells damage of the data from failures of the file system.
func damaged(format string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the %s data is cut off", ErrCorrupt, format)
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
