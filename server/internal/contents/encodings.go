package contents

// What is asked of encodings before they are loaded.

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// CheckEncodings returns an error unless parts can be among all parts of one filter here:
// of one kind and with one hash, which is not a function, and not of too many members.
func CheckEncodings(parts [][]byte, all int) error {
	var first struct {
		kind  uint16
		hash  hashing.Kind
		check uint64
	}
	for i, data := range parts {
		header, err := codec.Peek(data)
		if err != nil {
			return err
		}
		k, hash := header.Kind, header.Hash
		this := first
		this.kind, this.hash, this.check = k.Number, hash, header.Check
		switch {
		case rows[k.Number] == nil:
			return fmt.Errorf("store: load: %w: kind %s is not served", bloomery.ErrIncompatible, k.Name)
		case hash == hashing.Custom:
			return fmt.Errorf("store: load: %w: it was made with a custom hash function, which only the program that made it has", bloomery.ErrIncompatible)
		case hash != hashing.XXH3 && salted(k, data):
			return fmt.Errorf("store: load: %w: kind %s with a secret key for its members", bloomery.ErrIncompatible, k.Name)
		case i > 0 && this != first:
			return fmt.Errorf("store: load: %w: part %d differs from part 0", bloomery.ErrIncompatible, i)
		case k.Number == envelope.KindQuorum && membersIn(data) > maxLoaded/all:
			return fmt.Errorf("store: load: %w: %d parts of %d members, and there may be %d at most", bloomery.ErrTooLarge, all, membersIn(data), maxLoaded)
		}
		first = this
	}
	return nil
}

// membersIn returns how many members the encoding of a quorum has, each layer of a member
// counted as one. Of a corrupt encoding it counts as far as that can be read.
func membersIn(data []byte) (n int) {
	const line = 64 // members begin at multiples of it
	h, _ := envelope.ParseHeader(data)
	table := data[envelope.HeaderSize:]
	at := (8*uint64(h.Extra) + line - 1) / line * line
	for i := range uint64(h.Extra) {
		if at > uint64(len(table)) || 8*i+8 > uint64(len(table)) {
			break
		}
		n++
		if member, err := envelope.ParseHeader(table[at:]); err == nil && member.Kind == envelope.KindScalable {
			n += int(member.Extra) - 1
		}
		size := binary.LittleEndian.Uint64(table[8*i:])
		if size > uint64(len(table)) {
			break
		}
		at += (size + line - 1) / line * line
	}
	return n
}

// HashOf returns how the filter of an encoding hashes, without its secret key if it has
// one. CheckEncodings asks that all parts do alike.
func HashOf(data []byte) (hashing.Hasher, error) {
	header, err := codec.Peek(data)
	if err != nil || header.Hash == hashing.XXH3 {
		return hashing.Seeded(header.Check), err
	}
	return hashing.Keyless(header.Check), nil
}

// salted reports whether a filter derives more secrets from that of its hash, so
// that it takes no hashes without the key.
func salted(k codec.Kind, data []byte) bool {
	const rotates = 1 << 8 // in the header of a window
	switch k.Name {
	case "quorum":
		return true
	case "window":
		i, err := codec.Inspect(bytes.NewReader(data))
		return err != nil || i.Extra&rotates != 0
	}
	return false
}
