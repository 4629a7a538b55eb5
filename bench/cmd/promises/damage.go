package main

import (
	"bytes"
	"fmt"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/internal/measuring"
)

// damage writes a filter, damages what was written and reads it.
func damage(name string, do func(lib library.Library, data []byte) []byte) input {
	return input{
		name: name,
		file: true,
		fits: func(lib library.Library) bool { return lib.Decode != nil },
		give: func(lib library.Library) outcome {
			f, err := lib.Decode(do(lib, encoded(lib)))
			if err != nil {
				return outcome{refused, short(err.Error()), true}
			}
			lost, rate := reuse(f)
			return outcome{Kind: accepted, Text: fmt.Sprintf("%d of 1,000 keys lost, error rate %.2g", lost, rate)}
		},
	}
}

// hostile is a header that claims terabytes, for libraries that have a header.
func hostile() input {
	in := damage("a header that claims terabytes", func(lib library.Library, data []byte) []byte { return lib.Hostile(data) })
	in.fits = func(lib library.Library) bool { return lib.Decode != nil && lib.Hostile != nil }
	return in
}

// flips changes 64 bits in the second half of the file, one at a time.
func flips() input {
	const tries = 64
	in := damage("one bit flipped", nil)
	in.give = func(lib library.Library) outcome {
		data := encoded(lib)
		taken, worst := 0, 0
		for i := range tries {
			bad := bytes.Clone(data)
			at := len(bad)/2 + i*(len(bad)/2)/tries
			bad[at] ^= 1 << (i % 8)
			f, err := lib.Decode(bad)
			if err != nil {
				continue
			}
			taken++
			lost, _ := reuse(f)
			worst = max(worst, lost)
		}
		if taken == 0 {
			return outcome{refused, fmt.Sprintf("all of %d", tries), true}
		}
		return outcome{Kind: accepted, Text: fmt.Sprintf("%d of %d, up to %d keys lost", taken, tries, worst)}
	}
	return in
}

// encoded returns a filter that holds 1,000 keys at 1%, as its library writes
// it.
func encoded(lib library.Library) []byte {
	f, err := lib.Make(members, 0.01)
	if err != nil {
		panic(err.Error())
	}
	f.Add(keysFrom(0, members))
	data, err := f.Encode()
	if err != nil {
		panic(err.Error())
	}
	return data
}

// reuse returns how many of the keys of encoded a filter has lost, and its
// error rate.
func reuse(f library.Filter) (lost int, rate float64) {
	const absent = 10_000
	return members - count(f, 0, members), float64(count(f, members, absent)) / absent
}

func count(f library.Filter, first uint64, n int) (yes int) {
	dst := make([]bool, n)
	f.Contains(dst, keysFrom(first, n))
	for _, y := range dst {
		if y {
			yes++
		}
	}
	return yes
}

func keysFrom(first uint64, n int) [][]byte {
	kind := measuring.KeyKinds()[0]
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = kind.Append(nil, first+uint64(i))
	}
	return keys
}
