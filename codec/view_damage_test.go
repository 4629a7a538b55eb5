package codec_test

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// damagedView is what views of every family have.
type damagedView interface {
	Verify() error
	io.WriterTo
	encoding.BinaryMarshaler
	encoding.BinaryAppender
}

// A copy that is made of a damaged view is damaged: the encoding of a view has the
// checksums of the data, not new ones, which would hide that keys are lost.
func TestViewsDoNotHideDamage(t *testing.T) {
	for _, k := range codec.Kinds() {
		f, err := filledKind(k, hashes(300, 1), 300, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		data := encoded(t, f)
		at := 64 + len(data)/2
		data[at] ^= 1
		v, err := codec.Config{}.View(data)
		for ; err != nil && at < len(data)-9; v, err = (codec.Config{}).View(data) { // until it is not seen from outside
			data[at] ^= 1
			at++
			data[at] ^= 1
		}
		if err != nil {
			t.Fatalf("%s: view: %v", k.Name, err)
		}
		copiesDamage(t, k.Name, v, data)
	}

	s, err := bloom.Config{Capacity: 100, ErrorRate: 0.01, Columns: 3}.NewSliced()
	if err != nil {
		t.Fatal(err)
	}
	data, _ := s.MarshalBinary()
	data[len(data)-9] ^= 1
	v, err := bloom.Config{}.ViewSliced(data)
	if err != nil {
		t.Fatal(err)
	}
	copiesDamage(t, "sliced", v, data)
}

func copiesDamage(t *testing.T, name string, v damagedView, data []byte) {
	t.Helper()
	if err := v.Verify(); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("%s: verify: %v, want ErrCorrupt", name, err)
	}
	marshalled, err := v.MarshalBinary()
	if err != nil || !bytes.Equal(marshalled, data) {
		t.Errorf("%s: MarshalBinary: %v, or not the data of the view", name, err)
	}
	appended, err := v.AppendBinary([]byte("x"))
	if err != nil || !bytes.Equal(appended[1:], data) {
		t.Errorf("%s: AppendBinary: %v, or not the data of the view", name, err)
	}
	var out bytes.Buffer
	if n, err := v.WriteTo(&out); err != nil || n != int64(len(data)) || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("%s: WriteTo: %d bytes, %v, or not the data of the view", name, n, err)
	}
}

// Verify of a quorum looks at its members: damage of one may be older than the
// checksums of the whole.
func TestQuorumViewVerifiesMembers(t *testing.T) {
	for _, k := range codec.Kinds() {
		if k.Name != "quorum" {
			continue
		}
		f, err := filledKind(k, hashes(300, 1), 300, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		data := encoded(t, f)
		table := len(data) - 8
		data[table-65] ^= 1 // in the last member
		crc := crc32.MakeTable(crc32.Castagnoli)
		binary.LittleEndian.PutUint32(data[table:], crc32.Checksum(data[64:table], crc))
		binary.LittleEndian.PutUint32(data[table+4:], crc32.Checksum(data[table:table+4], crc))
		if _, err := codec.Open(data); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Fatalf("open: %v, want ErrCorrupt", err)
		}
		v, err := codec.Config{}.View(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Verify(); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("verify: %v, want ErrCorrupt", err)
		}
		return
	}
	t.Fatal("there is no kind quorum")
}
