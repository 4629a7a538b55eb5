package codec_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

func ExampleOpen() {
	s := bloom.NewStandard(1000, 0.01)
	s.AddString("alice")
	data, _ := s.MarshalBinary()

	f, err := codec.Open(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Stats().Kind, f.Contains([]byte("alice")))

	_, err = codec.Open([]byte("not a filter"))
	fmt.Println(err)
	// Output:
	// standard true
	// codec: open: corrupt: 12 bytes, a header has 64
}

// A filter in a file, or behind a network, is asked where it lies.
func ExampleAt() {
	f := bloom.New(1_000_000, 0.01)
	f.AddString("alice")
	data, _ := f.MarshalBinary()
	file := bytes.NewReader(data) // or an *os.File, or range requests to a server

	far, err := codec.At(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := far.Ask([]byte("alice"))
	reads, size := far.Reads()
	fmt.Println(answer.Found, answer.Verified, err, reads, size)

	err = far.VerifyHashes([]uint64{far.Hash([]byte("alice"))}) // the MiB around it
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err = far.Ask([]byte("alice"))
	fmt.Println(answer.Found, answer.Verified, err)
	// Output:
	// true false <nil> 2 128
	// true true <nil>
}

// The kinds that keys are added to, and what a million keys take in each.
func ExampleKinds() {
	for _, k := range codec.Kinds() {
		if !k.Features.Add {
			continue
		}
		f, err := k.New(1_000_000, 0.001, hashing.Hasher{})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%d %s: %d bytes\n", k.Number, k.Name, f.Stats().Bytes)
	}
	// Output:
	// 1 bloom: 1948864 bytes
	// 2 standard: 1797208 bytes
	// 3 partitioned: 1797208 bytes
	// 4 split: 2111232 bytes
	// 5 scalable: 2624448 bytes
	// 17 window: 4379648 bytes
}

func ExampleInspect() {
	f := bloom.New(200_000, 0.001)
	f.AddString("alice")
	data, _ := f.MarshalBinary()
	data[1000] ^= 1

	info, err := codec.Inspect(bytes.NewReader(data))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Name, info.Capacity, "keys,", info.Size, "bytes")
	for _, d := range info.Damage {
		fmt.Println("damaged:", d.From, "to", d.To, d.Cause)
	}
	// Output:
	// bloom 200000 keys, 389896 bytes
	// damaged: 64 to 389888 the checksum differs
}

func ExampleCompress() {
	f := bloom.New(100_000, 0.01)
	for i := range uint64(10_000) {
		f.AddHash(f.Hasher().HashUint64(i))
	}
	data, _ := f.MarshalBinary()
	small, err := codec.Compress(nil, data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f%% full: %d bytes travel in %d\n", 100*f.Stats().Saturation, len(data), len(small))

	back, err := codec.Decompress(nil, small)
	fmt.Println(bytes.Equal(back, data), err)
	// Output:
	// 6% full: 124296 bytes travel in 40937
	// true <nil>
}

func ExampleNewWriter() {
	var network bytes.Buffer
	f := bloom.New(100_000, 0.01)
	f.AddString("alice")
	w := codec.NewWriter(&network)
	if _, err := f.WriteTo(w); err != nil {
		fmt.Println(err)
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(network.Len(), "bytes")

	g, err := codec.Read(&network)
	fmt.Println(g.Contains([]byte("alice")), err)
	// Output:
	// 115 bytes
	// true <nil>
}

func ExampleDiff() {
	f := bloom.New(100_000, 0.01)
	f.AddString("alice")
	yesterday, _ := f.MarshalBinary()
	f.AddString("bob")
	today, _ := f.MarshalBinary()

	patch, err := codec.Diff(yesterday, today)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(patch), "bytes of", len(today))
	got, err := codec.Patch(yesterday, patch)
	fmt.Println(bytes.Equal(got, today), err)

	_, err = codec.Patch(today, patch)
	fmt.Println(err)
	// Output:
	// 123 bytes of 124296
	// true <nil>
	// codec: patch: incompatible: the patch is for the filter a0941b4169d80168, this is a0941b418db2bcf8
}

// A sealed filter shows nothing but its size to those who do not have the key.
func ExampleSeal() {
	f := bloom.New(1000, 0.01)
	f.AddString("alice")
	data, err := f.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		log.Fatal(err)
	}
	sealed, err := codec.Seal(nil, data, key)
	if err != nil {
		log.Fatal(err)
	}
	plain, err := codec.Unseal(nil, sealed, key)
	if err != nil {
		log.Fatal(err)
	}
	opened, err := codec.Open(plain)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(codec.Sealed(sealed), opened.Contains([]byte("alice")))
	// Output: true true
}
