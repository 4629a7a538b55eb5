package filtertest

// Flaws in encodings, views, keys, unions and clones.

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
)

func brokenEncodings() []broken {
	end := func(data []byte) []byte { data[len(data)-1] ^= 1; return data }
	more := func(data []byte) []byte { return append(data, 0) }
	decoded := func(with flaw) Kind {
		return sets(func(k *Kind) {
			k.Decode = func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
				f, err := bloom.Config{Hasher: h}.Decode(data)
				return &set{f, with}, err
			}
		})
	}
	read := func(read func(r io.Reader) (bloomery.Hashed, error)) Kind {
		return sets(func(k *Kind) { k.Read = read })
	}
	viewed := func(view func(data []byte) (bloomery.View, error)) Kind {
		return sets(func(k *Kind) { k.View = view })
	}
	none := errors.New("none")
	return []broken{
		{name: "marshal-differs", law: roundTrip, kind: flawed(flaw{marshal: end}), want: `AppendBinary differs from MarshalBinary`},
		{name: "append-differs", law: roundTrip, kind: flawed(flaw{appended: end}), want: `AppendBinary differs from MarshalBinary`},
		{name: "append-overwrites", law: roundTrip, kind: flawed(flaw{appended: func(data []byte) []byte { data[0] = 0; return data }}), want: `AppendBinary differs from MarshalBinary`},
		{name: "write-differs", law: roundTrip, kind: flawed(flaw{written: end}), want: `WriteTo wrote \d+ bytes that differ`},
		{name: "write-has-more", law: roundTrip, kind: flawed(flaw{written: more}), want: `WriteTo wrote \d+ bytes that differ`},
		{name: "not-decoded", law: roundTrip, kind: sets(func(k *Kind) {
			k.Decode = func([]byte, hashing.Hasher) (bloomery.Hashed, error) { return nil, none }
		}), want: `n = 1: decode: none`},
		{name: "decoded-forgets", law: roundTrip, kind: decoded(flaw{one: forgetful}), want: `decoded: answers differ for hash`},
		{name: "decoded-has-other-stats", law: roundTrip, kind: decoded(flaw{stats: func(s *bloomery.Stats) { s.Capacity++ }}), want: `decoded: Stats differ`},
		{name: "decoded-encodes-otherwise", law: roundTrip, kind: decoded(flaw{marshal: end, written: end, appended: end}), want: `n = 10000: the decoded filter encodes to other bytes`},
		{name: "not-read", law: roundTrip, kind: read(func(io.Reader) (bloomery.Hashed, error) { return nil, none }), want: `n = 1: read: none`},
		{name: "read-forgets", law: roundTrip, kind: read(func(r io.Reader) (bloomery.Hashed, error) {
			f, err := readSet(r)
			return &set{f, flaw{one: forgetful}}, err
		}), want: `read: answers differ for hash`},
		{name: "reads-too-far", law: roundTrip, kind: read(func(r io.Reader) (bloomery.Hashed, error) {
			data, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			f, err := bloom.Config{}.Decode(data[:len(data)-len("rest")])
			return &set{Filter: f}, err
		}), want: `n = 10000: after reading "" is left`},
		{name: "no-view", law: viewing, kind: viewed(func([]byte) (bloomery.View, error) { return nil, none }), want: `view: none`},
		{name: "view-forgets", law: viewing, kind: viewed(func(data []byte) (bloomery.View, error) {
			v, err := bloom.Config{}.View(data)
			return &view{v, flaw{one: forgetful}}, err
		}), want: `view: answers differ for hash`},
		{name: "view-is-not-sound", law: viewing, kind: viewed(func(data []byte) (bloomery.View, error) {
			v, err := bloom.Config{}.View(data)
			return &view{v, flaw{verify: func() error { return none }}}, err
		}), want: `Verify of a sound filter: none`},
		{name: "view-writes", law: viewing, kind: viewed(func(data []byte) (bloomery.View, error) {
			v, err := bloom.Config{}.View(data)
			return &view{v, flaw{verify: func() error { data[len(data)-1]++; return nil }}}, err
		}), want: `the view changed its data`},
	}
}

// brokenFiles are kinds that do not see damage: each knows the sound encoding and
// takes what differs from it in one way for sound.
func brokenFiles() []broken {
	// mended returns the sound encoding if fits reports that data is what the
	// kind is blind for.
	mended := func(data []byte, fits func(sound, data []byte) bool) []byte {
		if sound := soundSet(); fits(sound, data) {
			return sound
		}
		return data
	}
	at := func(from, to int) func(sound, data []byte) bool {
		return func(sound, data []byte) bool {
			return len(data) == len(sound) && bytes.Equal(data[:from], sound[:from]) && bytes.Equal(data[to:], sound[to:])
		}
	}
	length := func(n int) func(sound, data []byte) bool {
		return func(_, data []byte) bool { return len(data) == n }
	}
	decodes := func(name, want string, fits func(sound, data []byte) bool) broken {
		return broken{name: name, law: damage, want: want, kind: sets(func(k *Kind) {
			sound := k.Decode
			k.Decode = func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) { return sound(mended(data, fits), h) }
		})}
	}
	reads := func(name, want string, fits func(sound, data []byte) bool) broken {
		return broken{name: name, law: damage, want: want, kind: sets(func(k *Kind) {
			sound := k.Read
			k.Read = func(r io.Reader) (bloomery.Hashed, error) {
				data, err := io.ReadAll(r)
				if err != nil {
					return nil, err
				}
				return sound(bytes.NewReader(mended(data, fits)))
			}
		})}
	}
	views := func(name, want string, fits func(sound, data []byte) bool) broken {
		return broken{name: name, law: damage, want: want, kind: sets(func(k *Kind) {
			sound := k.View
			k.View = func(data []byte) (bloomery.View, error) { return sound(mended(data, fits)) }
		})}
	}
	n := len(soundSet())
	list := []broken{
		decodes("header-is-not-checked", `header byte 63, bit 7 flipped: decode: <nil>, want ErrCorrupt`, at(63, 64)),
		decodes("magic-is-not-checked", `header byte 0, bit 0 flipped: decode: <nil>`, at(0, 1)),
		decodes("payload-is-not-checked", `byte \d+ of \d+ flipped: decode: <nil>`, at(headerSize, n-100)),
		decodes("sums-are-not-checked", `byte \d+ of \d+ flipped: decode: <nil>`, at(n-1, n)),
		decodes("longer-is-taken", `a byte too many: <nil>`, length(n+1)),
		reads("read-does-not-check-the-header", `header byte 40, bit 3 flipped: read: <nil>, want ErrCorrupt`, at(40, 41)),
		reads("read-does-not-check-the-payload", `byte \d+ of \d+ flipped: read: <nil>`, at(headerSize, n-100)),
		reads("read-takes-a-half", `cut off after \d+ bytes: read: <nil>`, length(n/2)),
		views("view-does-not-check-the-header", `header byte 63, bit 0 flipped: view: <nil>`, at(63, 64)),
		views("view-is-never-corrupt", `byte \d+ flipped: Verify: <nil>, want ErrCorrupt`, at(headerSize, n)),
		{name: "damage-has-another-error", law: damage, want: `header byte 0, bit 0 flipped: decode: EOF, want ErrCorrupt`, kind: sets(func(k *Kind) {
			sound := k.Decode
			k.Decode = func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
				f, err := sound(data, h)
				if err != nil {
					err = io.EOF
				}
				return f, err
			}
		})},
		{name: "view-has-another-error", law: damage, want: `byte \d+ flipped: view: EOF`, kind: sets(func(k *Kind) {
			k.View = func([]byte) (bloomery.View, error) { return nil, io.EOF }
		})},
		{name: "reader-fails-otherwise", law: damage, want: `reader that fails midway: .*, want its error`, kind: sets(func(k *Kind) {
			sound := k.Read
			k.Read = func(r io.Reader) (bloomery.Hashed, error) {
				data, _ := io.ReadAll(r)
				return sound(bytes.NewReader(data))
			}
		})},
		{name: "large-payload-is-not-checked", law: damage, want: `byte \d+ of \d{6} flipped: decode: <nil>`, long: true, kind: sets(func(k *Kind) {
			sound := k.Decode
			k.Decode = func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
				f, err := sound(data, h)
				if len(data) > 100_000 {
					err = nil
				}
				return f, err
			}
		})},
	}
	for _, cut := range []int{0, 1, 8, 63, 64, 65, n - 5, n - 4, n - 1} {
		list = append(list, decodes("cut-after-"+strconv.Itoa(cut), `cut off after `+strconv.Itoa(cut)+` bytes: decode: <nil>`, length(cut)))
	}
	return list
}

// soundSet is the encoding that law damage spoils first.
var soundSet = sync.OnceValue(func() []byte {
	f, err := makeSet(hashes(5000, 24), 5000, 1e-2, flaw{})
	if err != nil {
		panic(err)
	}
	data, err := f.(*set).MarshalBinary()
	if err != nil {
		panic(err)
	}
	return data
})
