// Filter files that are encrypted.

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// sealKeySize is the length of a key that seals.
const sealKeySize = 32

// sealKey reads the key of a flag.
func sealKey(flag, name string) (key [sealKeySize]byte, err error) {
	data, err := keyIn(name, sealKeySize)
	if err != nil {
		return key, keyError(flag, sealKeySize, err)
	}
	return [sealKeySize]byte(data), nil
}

// sealing writes a filter sealed.
type sealing struct {
	filter io.WriterTo
	key    [sealKeySize]byte
}

// WriteTo implements io.WriterTo.
func (s sealing) WriteTo(w io.Writer) (int64, error) {
	z, err := codec.NewSealer(w, s.key)
	if err != nil {
		return 0, err
	}
	n, err := s.filter.WriteTo(z)
	return n, errors.Join(err, z.Close())
}

// openSealed reads the filter in a sealed file into memory.
func openSealed(ctx context.Context, name string, key [sealKeySize]byte, h hashing.Hasher) (bloomery.Hashed, error) {
	return abandon(ctx, func() (bloomery.Hashed, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, about(name, cause(err))
		}
		defer f.Close() //nolint:errcheck // it was only read
		r := bufio.NewReaderSize(codec.NewUnsealer(bufio.NewReaderSize(f, 1<<20), key), 1<<20)
		head, err := r.Peek(headSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, unsealError(name, err)
		}
		info, err := codec.Inspect(bytes.NewReader(head))
		if err != nil && !errors.Is(err, bloomery.ErrCorrupt) {
			return nil, about(name, err)
		}
		filter, err := codec.Config{Hasher: hasherFor(info, h)}.Read(r)
		if err != nil {
			return nil, unsealError(name, err)
		}
		// To the end, so that all of the file is authentic.
		switch _, err := r.ReadByte(); {
		case err == nil:
			return nil, about(name, fmt.Errorf("%w: bytes behind the end", bloomery.ErrCorrupt))
		case !errors.Is(err, io.EOF):
			return nil, unsealError(name, err)
		}
		return filter, nil
	})
}

// unsealError adds what may be wrong with a key.
func unsealError(name string, err error) error {
	if errors.Is(err, bloomery.ErrKey) {
		return hinted{about(name, err), "give the key that it was sealed with; a filter with a secret hash needs --key-file, too"}
	}
	return about(name, cause(err))
}

// errSealed refuses a sealed file where a filter is needed.
func errSealed(name string) error {
	return hinted{
		fmt.Errorf("%s: %w: the file is sealed", name, bloomery.ErrIncompatible),
		"make it a filter with: bloomery convert --unseal KEYFILE -o F " + name,
	}
}
