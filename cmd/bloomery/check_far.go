// check of a filter behind an address.

package main

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// distant is a filter that is asked where it lies.
type distant struct {
	bloomery.Far
	hasher hashing.Hasher
	verify bool
}

// Hasher returns the hasher of the filter.
func (f distant) Hasher() hashing.Hasher { return f.hasher }

// ask looks hashes up, and verifies what the answers come from if it is to.
func (f distant) ask(dst []bool, hs []uint64) error {
	if f.verify {
		if err := f.VerifyHashes(hs); err != nil {
			return err
		}
	}
	answers := make([]bloomery.Answer, len(hs))
	if err := f.AskHashes(answers, hs); err != nil {
		return err
	}
	for i, a := range answers {
		dst[i] = a.Found
	}
	return nil
}

// runFar is run for a filter behind an address.
func (o *checkOptions) runFar(ctx context.Context, s *shell, address string, h hashing.Hasher, values []string) error {
	if o.verify && o.noVerify {
		return errors.New("--verify and --no-verify exclude each other")
	}
	in, err := o.values(s, values)
	if err != nil {
		return err
	}
	file, err := openWeb(ctx, address, o.timeout)
	if err != nil {
		return err
	}
	f, err := file.filter(h)
	if err != nil {
		return file.about(err)
	}
	f.verify = o.verify
	hashes, err := o.hashesOf(file.name(), f)
	if err != nil {
		return err
	}
	err = o.check(ctx, s, in, func(k *lines.Key, b *lines.Batch, a *answers) error {
		if err := a.of(b, k, hashes); err != nil {
			return err
		}
		return file.about(f.ask(a.found, a.hashes))
	})
	if err != nil && !errors.Is(err, errNo) {
		return err
	}
	reads, size := f.Reads()
	verified := "not verified by checksums: --verify does that"
	if o.verify {
		verified = "verified"
	}
	s.say("%s: %s, %s read, %s", file.name(), plural(reads, "request"), bytesText(size), verified)
	return err
}

// about names the address in front of an error, once, and keeps its hint.
func (f *webFile) about(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if h, ok := errors.AsType[hinted](err); ok {
		return hinted{about(f.name(), err), h.hint}
	}
	return about(f.name(), err)
}

// filter opens the filter that the file is.
func (f *webFile) filter(given hashing.Hasher) (distant, error) {
	head := make([]byte, payloadOffset)
	switch n, err := f.ReadAt(head, 0); {
	case err != nil && !errors.Is(err, io.EOF):
		return distant{}, err
	default:
		head = head[:n]
	}
	switch {
	case codec.Sealed(head):
		return distant{}, errSealed(f.name())
	case !startsLikeFilter(head):
		looks, _ := looksLike(f.name(), head)
		return distant{}, worded{bloomery.ErrCorrupt, "not a bloomery filter: " + looks}
	}
	info, err := codec.Inspect(bytes.NewReader(head))
	if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
		return distant{}, err
	}
	h := hasherFor(info, given)
	far, err := codec.Config{Hasher: h}.At(headed{f, head})
	if info.Hash == hashing.XXH3 {
		h = hashing.Seeded(info.Check)
	}
	return distant{Far: far, hasher: h}, err
}

// headed is a file whose first bytes are here.
type headed struct {
	io.ReaderAt
	head []byte
}

// ReadAt implements io.ReaderAt.
func (f headed) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 && len(p) == len(f.head) {
		return copy(p, f.head), nil
	}
	return f.ReaderAt.ReadAt(p, off)
}
