package codec

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

// A sealed filter is a preface and chunks of AES-256-GCM. docs/format.md has the
// bytes.
const (
	sealMagic   = "bloomsec"
	sealVersion = 1
	sealSalt    = 32
	sealCheck   = 16
	sealPreface = 8 + 8 + sealSalt + sealCheck // magic, version and zeros, salt, check
	sealTag     = 16
	// sealChunk is how much is encrypted together. The last chunk is shorter,
	// or empty.
	sealChunk = 64 << 10
)

// Seal appends to dst data, encrypted and authenticated under key. data is as a
// rule the encoding of a filter, plain or in the transport form; a sealed filter
// does not show what it is, how full it is or how it was hashed, only its size.
// It is longer than data by 64 bytes, and 16 for every 64 KiB. Two calls give
// different bytes for the same data. All bytes of key must be random: a password
// is not a key.
func Seal(dst, data []byte, key [32]byte) ([]byte, error) {
	preface, aead, err := newSeal(key)
	if err != nil {
		return dst, err
	}
	dst = slices.Grow(envelope.Apart(dst, data), sealPreface+len(data)+(len(data)/sealChunk+1)*sealTag)
	dst = append(dst, preface...)
	var nonce sealNonce
	for ; len(data) >= sealChunk; data = data[sealChunk:] {
		dst = aead.Seal(dst, nonce.next(false), data[:sealChunk], nil)
	}
	return aead.Seal(dst, nonce.next(true), data, nil), nil
}

// Unseal appends to dst what Seal was given. The error wraps ErrKey if key is
// not the one that data was sealed with, ErrVersion for a later version, and
// ErrCorrupt if data is not sealed or not as it was written: changed, truncated,
// extended or with chunks in another order. dst is then returned as it was.
func Unseal(dst, data []byte, key [32]byte) ([]byte, error) {
	aead, err := openSeal(data[:min(len(data), sealPreface)], key)
	if err != nil {
		return dst, fmt.Errorf("codec: unseal: %w", err)
	}
	data = data[sealPreface:]
	out := slices.Grow(envelope.Apart(dst, data), len(data))
	var nonce sealNonce
	for {
		chunk := data[:min(len(data), sealChunk+sealTag)]
		last := len(chunk) < sealChunk+sealTag
		if out, err = unsealChunk(out, aead, &nonce, chunk, last); err != nil {
			return dst, fmt.Errorf("codec: unseal: %w", err)
		}
		if last {
			return out, nil
		}
		data = data[len(chunk):]
	}
}

// Sealed reports whether data begins like a sealed filter.
func Sealed(data []byte) bool { return bytes.HasPrefix(data, []byte(sealMagic)) }

// Sealer encrypts what is written to it, see Seal. It keeps 128 KiB of memory.
// Errors are sticky.
//
// Not safe for concurrent use.
type Sealer struct {
	w     io.Writer
	aead  hiddenAEAD
	nonce sealNonce
	buf   []byte // of the present chunk
	out   []byte
	err   error
}

// NewSealer returns a Sealer that writes to w. The error is that of the system's
// source of random numbers.
func NewSealer(w io.Writer, key [32]byte) (*Sealer, error) {
	preface, aead, err := newSeal(key)
	if err != nil {
		return nil, err
	}
	return &Sealer{w: w, aead: hidden(aead), buf: make([]byte, 0, sealChunk), out: preface}, nil
}

// newSeal returns the preface of a new sealed filter and its cipher.
func newSeal(key [32]byte) ([]byte, cipher.AEAD, error) {
	preface := make([]byte, sealPreface)
	copy(preface, sealMagic)
	preface[8] = sealVersion
	if _, err := rand.Read(preface[16 : 16+sealSalt]); err != nil {
		return nil, nil, fmt.Errorf("codec: seal: %w", err)
	}
	aead, check, err := sealCipher(preface, key)
	if err != nil {
		return nil, nil, fmt.Errorf("codec: seal: %w", err)
	}
	copy(preface[16+sealSalt:], check)
	return preface, aead, nil
}

// Write takes the next bytes.
func (s *Sealer) Write(b []byte) (int, error) {
	taken := 0
	for s.err == nil && taken < len(b) {
		if len(s.buf) == sealChunk {
			s.err = s.flush(false)
			continue
		}
		n := copy(s.buf[len(s.buf):sealChunk], b[taken:])
		s.buf = s.buf[:len(s.buf)+n]
		taken += n
	}
	return taken, s.err
}

// Close writes the last chunk. It does not close the writer below.
func (s *Sealer) Close() error {
	if errors.Is(s.err, errSealed) {
		return nil
	}
	if s.err == nil && len(s.buf) == sealChunk {
		s.err = s.flush(false) // the last chunk is shorter than the others
	}
	if s.err == nil {
		s.err = s.flush(true)
	}
	if s.err == nil {
		s.err = errSealed
		return nil
	}
	return s.err
}

// errSealed is the error of writing behind the end.
var errSealed = errors.New("codec: seal: closed")

// flush encrypts the present chunk and writes it.
func (s *Sealer) flush(last bool) error {
	s.out = s.aead().Seal(s.out, s.nonce.next(last), s.buf, nil)
	n, err := s.w.Write(s.out)
	if err == nil && n < len(s.out) {
		err = io.ErrShortWrite
	}
	s.buf, s.out = s.buf[:0], s.out[:0]
	if err != nil {
		return fmt.Errorf("codec: seal: %w", err)
	}
	return nil
}

// Unsealer decrypts what it reads, see Unseal. What it returns is authentic,
// but it is complete only after io.EOF. It reads to the end of the reader below
// and keeps 128 KiB of memory. Errors are sticky.
//
// Not safe for concurrent use.
type Unsealer struct {
	r     io.Reader
	open  func(preface []byte) (cipher.AEAD, error) // holds the key where fmt cannot print it
	aead  hiddenAEAD
	nonce sealNonce
	in    []byte
	rest  []byte // decrypted, not yet read
	err   error
}

// NewUnsealer returns an Unsealer that reads from r.
func NewUnsealer(r io.Reader, key [32]byte) *Unsealer {
	open := func(preface []byte) (cipher.AEAD, error) { return openSeal(preface, key) }
	return &Unsealer{r: r, open: open}
}

// Read reads the next bytes.
func (u *Unsealer) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for len(u.rest) == 0 {
		if u.err == nil {
			u.rest, u.err = u.next()
		}
		if len(u.rest) == 0 && u.err != nil {
			if errors.Is(u.err, io.EOF) {
				return 0, io.EOF
			}
			return 0, fmt.Errorf("codec: unseal: %w", u.err)
		}
	}
	n := copy(b, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// next decrypts the next chunk. With the last one comes io.EOF.
func (u *Unsealer) next() ([]byte, error) {
	if u.aead == nil {
		preface := make([]byte, sealPreface)
		n, err := io.ReadFull(u.r, preface)
		if err != nil && !endOfData(err) {
			return nil, err
		}
		aead, err := u.open(preface[:n])
		if err != nil {
			return nil, err
		}
		u.aead = hidden(aead)
		u.in = make([]byte, sealChunk+sealTag)
	}
	n, err := io.ReadFull(u.r, u.in)
	if err != nil && !endOfData(err) {
		return nil, err
	}
	last := err != nil
	plain, err := unsealChunk(u.in[:0], u.aead(), &u.nonce, u.in[:n], last)
	if err == nil && last {
		err = io.EOF
	}
	return plain, err
}

func endOfData(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// unsealChunk appends to dst the next chunk, decrypted. Its errors do not wrap
// io.EOF: a truncated file is not one that ends.
func unsealChunk(dst []byte, aead cipher.AEAD, nonce *sealNonce, chunk []byte, last bool) ([]byte, error) {
	if len(chunk) < sealTag {
		return nil, fmt.Errorf("%w: truncated: chunk %d is missing", bloomery.ErrCorrupt, nonce.n+1)
	}
	out, err := aead.Open(dst, nonce.next(last), chunk, nil)
	switch {
	case err == nil:
		return out, nil
	case last:
		return nil, fmt.Errorf("%w: the last chunk, number %d, is truncated or changed", bloomery.ErrCorrupt, nonce.n)
	}
	return nil, fmt.Errorf("%w: chunk %d is changed or not in its place", bloomery.ErrCorrupt, nonce.n)
}

// openSeal checks a preface, which may be cut short, and returns the cipher.
func openSeal(preface []byte, key [32]byte) (cipher.AEAD, error) {
	switch {
	case !Sealed(preface):
		return nil, fmt.Errorf("%w: not a sealed filter", bloomery.ErrCorrupt)
	case len(preface) < sealPreface:
		return nil, fmt.Errorf("%w: truncated: %d bytes, a sealed filter has at least %d", bloomery.ErrCorrupt, len(preface), sealPreface+sealTag)
	case preface[8] != sealVersion:
		return nil, fmt.Errorf("%w: sealed form %d, this program reads %d", bloomery.ErrVersion, preface[8], sealVersion)
	case !bytes.Equal(preface[9:16], make([]byte, 7)):
		return nil, fmt.Errorf("%w: reserved bytes are not zero", bloomery.ErrCorrupt)
	}
	aead, check, err := sealCipher(preface, key)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(check, preface[16+sealSalt:]) != 1 {
		return nil, fmt.Errorf("%w: the filter was sealed with another key", bloomery.ErrKey)
	}
	return aead, nil
}

// sealCipher derives from key and the salt in the preface a cipher that serves
// one file only, and the check that recognises the key.
func sealCipher(preface []byte, key [32]byte) (cipher.AEAD, []byte, error) {
	info := "bloomery sealed filter 1"
	derived, err := hkdf.Key(sha256.New, key[:], preface[16:16+sealSalt], info, 32+sealCheck)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(derived[:32])
	if err != nil {
		return nil, nil, err
	}
	aead, err := cipher.NewGCM(block)
	return aead, derived[32:], err
}

// hiddenAEAD holds a cipher where fmt cannot print it: with a verb that does not
// fit, fmt follows the pointer in an interface, and shows the key.
type hiddenAEAD func() cipher.AEAD

func hidden(aead cipher.AEAD) hiddenAEAD { return func() cipher.AEAD { return aead } }

// sealNonce numbers the chunks. The last one is marked, so that a file that was
// cut at a chunk is noticed; the number keeps chunks in their places.
type sealNonce struct {
	n    uint64
	data [12]byte
}

func (c *sealNonce) next(last bool) []byte {
	binary.BigEndian.PutUint64(c.data[:8], c.n)
	c.n++
	c.data[11] = 0
	if last {
		c.data[11] = 1
	}
	return c.data[:]
}
