package contents

// What is asked of encodings before they are loaded.

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// CheckEncodings returns an error unless parts can be among all parts of one filter here. They must have one kind and one hash that
// is not a function, not too many members and, if they are windows, the same number of generations. For a part that has been
// checked, its header is enough.
func CheckEncodings(parts [][]byte, all int) error {
	var first struct {
		kind        uint16
		hash        hashing.Kind
		check       uint64
		generations uint32
	}
	for i, data := range parts {
		header, err := codec.Peek(data)
		if err != nil {
			return err
		}
		k, hash := header.Kind, header.Hash
		this := first
		this.kind, this.hash, this.check, this.generations = k.Number, hash, header.Check, generationsIn(data)
		switch {
		case rows[k.Number] == nil:
			return fmt.Errorf("store: load: %w: kind %s is not served", bloomery.ErrIncompatible, k.Name)
		case hash == hashing.Custom:
			return fmt.Errorf("store: load: %w: it was made with a custom hash function, which only the program that made it has", bloomery.ErrIncompatible)
		case hash != hashing.XXH3 && salted(k, data):
			return fmt.Errorf("store: load: %w: kind %s with a secret key for its members", bloomery.ErrIncompatible, k.Name)
		case i > 0 && this != first:
			return fmt.Errorf("store: load: %w: it is not a part of the same filter: kind, hash or generations differ", bloomery.ErrIncompatible)
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

// HeaderOf returns a copy of the header of an encoding that was checked.
func HeaderOf(data []byte) []byte { return slices.Clone(data[:envelope.HeaderSize]) }

// HashOf returns how the filter of an encoding hashes, without its secret key if it has
// one. CheckEncodings asks that all parts do alike.
func HashOf(data []byte) (hashing.Hasher, error) {
	header, err := codec.Peek(data)
	if err != nil || header.Hash == hashing.XXH3 {
		return hashing.Seeded(header.Check), err
	}
	return hashing.Keyless(header.Check), nil
}

// rotates is the bit, above the number of generations in the header of a window, that says that each generation has its own secret.
const rotates = 1 << 8

// generationsIn returns how many generations the window of an encoding has, and whether its secret rotates; 0 if it is no window.
func generationsIn(data []byte) uint32 {
	if h, _ := envelope.ParseHeader(data); h.Kind == envelope.KindWindow {
		return h.Extra & (2*rotates - 1)
	}
	return 0
}

// salted reports whether a filter derives more secrets from that of its hash, so
// that it takes no hashes without the key.
func salted(k codec.Kind, data []byte) bool {
	return k.Number == envelope.KindQuorum || generationsIn(data)&rotates != 0
}
