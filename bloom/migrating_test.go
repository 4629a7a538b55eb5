package bloom_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing/named"
	"github.com/bloomery/bloomery/sizing"
)

// Example_fromBitsAndBlooms has the right-hand side of the first table of
// docs/migrating-from.md.
func Example_fromBitsAndBlooms() {
	n, p := 1000, 0.01
	m, k := uint64(9600), 7
	key, s := []byte("alice"), "bob"

	f := bloom.New(n, p)
	small := bloom.NewStandard(n, p)
	given, err := bloom.Config{Bits: m, Hashes: k}.NewStandard()
	fmt.Println(given.Shape() == sizing.Shape{Layout: sizing.Standard, Bits: m, K: k}, err)

	f.Add(key)
	f.AddString(s)
	fmt.Println(f.Contains(key), f.ContainsString(s))
	had := !f.AddString(s)
	fmt.Println(had, small.Contains(key))

	h := f.Hash(key)
	fmt.Println(f.ContainsHash(h))

	g := f.Clone()
	err = f.Union(g)
	fmt.Println(f.Shape().Bits, f.Shape().K, f.EstimateCount(), err)
	f.Clear()

	shape, err := sizing.Standard.Size(uint64(n), p)
	fmt.Println(shape.Bits, shape.K, err)
	textbook, err := sizing.Solve(sizing.Params{N: uint64(n), P: p})
	fmt.Println(textbook.M, textbook.K, err)
	rate := sizing.Shape{Layout: sizing.Standard, Bits: m, K: k}.Rate(float64(n))
	fmt.Printf("%.4f\n", rate)

	// Output:
	// true <nil>
	// true true
	// true false
	// true
	// 10240 7 2 <nil>
	// 9595 7 <nil>
	// 9586 7 <nil>
	// 0.0100
}

// Example_fromBitsAndBloomsFiles has the part of the table about encodings.
func Example_fromBitsAndBloomsFiles() {
	f := bloom.New(1000, 0.01)
	f.AddString("alice")
	var w bytes.Buffer

	_, err := f.WriteTo(&w)
	read, err2 := codec.Read(&w)
	fmt.Println(read.Contains([]byte("alice")), err, err2)

	data, err := f.MarshalBinary()
	var g bloom.Filter
	err2 = g.UnmarshalBinary(data)
	fmt.Println(g.ContainsString("alice"), err, err2)

	err = gob.NewEncoder(&w).Encode(f)
	err2 = gob.NewDecoder(&w).Decode(&g)
	fmt.Println(g.ContainsString("alice"), err, err2)

	text, err := json.Marshal(data)
	fmt.Println(len(text) > len(data), err)

	other, _ := g.MarshalBinary()
	equal := bytes.Equal(data, other)
	fmt.Println(equal)

	// Output:
	// true <nil> <nil>
	// true <nil> <nil>
	// true <nil> <nil>
	// true <nil>
	// true
}

// Example_fromBlobloom has the right-hand side of the second table.
func Example_fromBlobloom() {
	n, p := 1000, 0.01
	bits, k := uint64(10240), 7
	h := named.XXH64().HashString("alice") // any hash of 64 good bits

	f, err := bloom.Config{Capacity: n, ErrorRate: p}.New()
	fmt.Println(f.Shape().Bits, err)
	g, err := bloom.Config{Bits: bits, Hashes: k}.New()
	fmt.Println(g.Shape().K, err)
	c, err := bloom.Config{Capacity: n, ErrorRate: p}.NewConcurrent()
	fmt.Println(c.ContainsHash(h), err)
	shape, err := sizing.Blocked.Size(uint64(n), p)
	fmt.Println(shape.Bits, shape.K, err)

	empty := f.EstimateCount() == 0
	f.AddHash(h)
	fmt.Println(empty, f.ContainsHash(h), f.EstimateCount())
	fmt.Printf("%.4f\n", f.Shape().Rate(float64(n)))
	rate := sizing.Shape{Layout: sizing.Blocked, Bits: bits, K: k}.Rate(float64(n))
	fmt.Printf("%.4f\n", rate)
	fmt.Println(f.Union(g), f.Intersect(g))
	f.Clear()

	var w bytes.Buffer
	_, err = f.WriteTo(&w)
	read, err2 := codec.Read(&w)
	fmt.Println(err, err2)
	_, err = c.WriteTo(&w)
	c = read.(*bloom.Filter).Concurrent()
	fmt.Println(c.EstimateCount(), err)

	// Output:
	// 10240 <nil>
	// 7 <nil>
	// false <nil>
	// 10240 7 <nil>
	// true true 1
	// 0.0087
	// 0.0087
	// <nil> <nil>
	// <nil> <nil>
	// 0 <nil>
}

// TestMigratingCompiles asks that every snippet on the right-hand side of
// docs/migrating-from.md is a piece of this file, and so compiles. Commands and
// their flags are no Go code.
func TestMigratingCompiles(t *testing.T) {
	code, err := os.ReadFile("migrating_test.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../docs/migrating-from.md")
	if err != nil {
		t.Fatal(err)
	}
	snippet := regexp.MustCompile("`[^`]+`")
	command := regexp.MustCompile("^`(bloomery|--?[a-z])")
	found := 0
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, s := range snippet.FindAllString(cells[2], -1) {
			if command.MatchString(s) {
				continue
			}
			found++
			if !strings.Contains(string(code), strings.Trim(s, "`")) {
				t.Errorf("no example has %s", s)
			}
		}
	}
	if found < 30 {
		t.Errorf("%d snippets found, there are more", found)
	}
}
