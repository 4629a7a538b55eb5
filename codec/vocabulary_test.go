package codec_test

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/ribbon"
)

// methods are those that mean the same in every family, with their one shape.
var methods = map[string]any{
	"Contains":       (func([]byte) bool)(nil),
	"ContainsString": (func(string) bool)(nil),
	"ContainsHash":   (func(uint64) bool)(nil),
	"ContainsHashes": (func([]bool, []uint64))(nil),
	"ContainsKeys":   (func([]bool, [][]byte))(nil),

	"ContainsStrings": (func([]bool, []string))(nil),

	"Add":        (func([]byte) bool)(nil),
	"AddString":  (func(string) bool)(nil),
	"AddHash":    (func(uint64) bool)(nil),
	"AddHashes":  (func([]bool, []uint64))(nil),
	"AddKeys":    (func([]bool, [][]byte))(nil),
	"AddStrings": (func([]bool, []string))(nil),
	"AddSeq":     (func(iter.Seq[[]byte]))(nil),

	"Insert":        (func([]byte) error)(nil),
	"InsertString":  (func(string) error)(nil),
	"InsertHash":    (func(uint64) error)(nil),
	"InsertHashes":  (func([]uint64) (int, error))(nil),
	"InsertKeys":    (func([][]byte) (int, error))(nil),
	"InsertStrings": (func([]string) (int, error))(nil),
	"InsertSeq":     (func(iter.Seq[[]byte]) (int, error))(nil),

	"Delete":       (func([]byte) bool)(nil),
	"DeleteString": (func(string) bool)(nil),
	"DeleteHash":   (func(uint64) bool)(nil),
	"Count":        (func([]byte) uint64)(nil),
	"CountString":  (func(string) uint64)(nil),
	"CountHash":    (func(uint64) uint64)(nil),
	"MaxCount":     (func() uint64)(nil),

	"Get":       (func([]byte) (uint32, bool))(nil),
	"GetString": (func(string) (uint32, bool))(nil),
	"GetHash":   (func(uint64) (uint32, bool))(nil),
	"GetHashes": (func([]uint32, []bool, []uint64))(nil),

	"Hash":          (func([]byte) uint64)(nil),
	"Hasher":        (func() hashing.Hasher)(nil),
	"Stats":         (func() bloomery.Stats)(nil),
	"String":        (func() string)(nil),
	"EstimateCount": (func() uint64)(nil),
	"Shards":        (func() int)(nil),
	"Members":       (func() []bloomery.Hashed)(nil),
	"Clear":         (func())(nil),
	"Verify":        (func() error)(nil),

	"AppendBinary":    (func([]byte) ([]byte, error))(nil),
	"MarshalBinary":   (func() ([]byte, error))(nil),
	"UnmarshalBinary": (func([]byte) error)(nil),
	"WriteTo":         (func(io.Writer) (int64, error))(nil),
}

// families are methods that come together: a type with the first has all of them.
var families = [][]string{
	{"Contains", "ContainsString", "ContainsHash", "ContainsHashes", "ContainsKeys", "ContainsStrings", "Hash", "Hasher", "Stats", "String"},
	{"Add", "AddString", "AddHash", "AddHashes", "AddKeys", "AddStrings", "AddSeq"},
	{"Insert", "InsertString", "InsertHash", "InsertHashes", "InsertKeys", "InsertStrings", "InsertSeq"},
	{"Delete", "DeleteString", "DeleteHash"},
	{"Count", "CountString", "CountHash"},
	{"Get", "GetString", "GetHash", "GetHashes"},
	{"UnmarshalBinary", "MarshalBinary", "AppendBinary", "WriteTo"},
}

// speakers are all types that the words of the module are for.
var speakers = []struct {
	value any
	clone any    // what Clone returns; nil if there is none
	size  string // the method that returns its size
}{
	{new(bloom.Filter), new(bloom.Filter), "Shape"},
	{new(bloom.Standard), new(bloom.Standard), "Shape"},
	{new(bloom.Partitioned), new(bloom.Partitioned), "Shape"},
	{new(bloom.Split), new(bloom.Split), "Shape"},
	{new(bloom.Scalable), new(bloom.Scalable), "Layer"},
	{new(bloom.Concurrent), new(bloom.Filter), "Shape"},
	{new(counting.Filter), new(counting.Filter), "Shape"},
	{new(counting.Spectral), new(counting.Spectral), "Shape"},
	{new(counting.Stable), new(counting.Stable), "Shape"},
	{new(cuckoo.Filter), new(cuckoo.Filter), "Shape"},
	{new(quotient.Filter), new(quotient.Filter), "Shape"},
	{new(quotient.Growing), new(quotient.Growing), "Shape"},
	{new(fuse.Filter[uint8]), nil, "Shards"},
	{new(ribbon.Filter), nil, "Shards"},
	{new(ribbon.Map), nil, "Shards"},
	{new(exact.Filter), nil, "Groups"},
	{new(compose.Window), new(compose.Window), "Shape"},
	{new(compose.Quorum), nil, "Members"},
	{new(compose.Striped), nil, "Members"},
	{new(compose.Corrected), nil, "Counts"},
	{new(compose.Layers), nil, "Counts"},
}

// TestVocabulary holds the methods of all types to the words of the module: the same
// name has the same shape everywhere, words that belong together come together, sets
// unite and multisets merge, and clones have the type that can be changed.
func TestVocabulary(t *testing.T) {
	for _, c := range speakers {
		v := vocabulary{t, reflect.TypeOf(c.value)}
		v.shapes()
		v.together()
		v.clones(c.clone)
		v.sums()
		if !v.has(c.size) {
			t.Errorf("%v has no %s", v.typ, c.size)
		}
	}
}

// changing is how the names of methods begin that change a filter, or that only one
// that can be changed has.
var changing = []string{
	"Add", "Advance", "Clear", "Concurrent", "Copied", "Delete", "Fold", "Fork", "Freeze", "GrowBytes", "GrowLayers", "Insert", "Intersect", "Jaccard", "Mark", "Merge", "Resize", "Scalable", "Sweep", "Union", "Unmarshal",
}

// TestViewsRead asks that the view of every kind has all methods of the kind that read
// and none that could change what it lies in, whatever interface it is asked for.
func TestViewsRead(t *testing.T) {
	for _, k := range codec.Kinds() {
		f, err := filledKind(k, nil, 100, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		v := vocabulary{t, reflect.TypeOf(viewOf(t, k))}
		v.shapes()
		v.together()
		for m := range reflect.TypeOf(f).Methods() {
			changes := slices.ContainsFunc(changing, func(verb string) bool { return strings.HasPrefix(m.Name, verb) })
			if m.Name == "Inserts" || m.Name == "UnmarshalJSON" {
				changes = false // a number; a refusal
			}
			if v.has(m.Name) == changes {
				t.Errorf("%v has %s: %v", v.typ, m.Name, changes)
			}
		}
	}
}

// viewOf returns a view of a filter of a kind that holds some keys.
func viewOf(t *testing.T, k codec.Kind) bloomery.View {
	t.Helper()
	f, err := filledKind(k, hashes(10, 1), 100, 0.01, hashing.Hasher{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := codec.Config{}.View(encoded(t, f))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// vocabulary is the methods of one type.
type vocabulary struct {
	t   *testing.T
	typ reflect.Type
}

func (v vocabulary) has(name string) bool {
	_, ok := v.typ.MethodByName(name)
	return ok
}

// shape returns a method's type without its receiver.
func (v vocabulary) shape(name string) (reflect.Type, bool) {
	m, ok := v.typ.MethodByName(name)
	if !ok {
		return nil, false
	}
	return reflect.New(v.typ.Elem()).Method(m.Index).Type(), true
}

func (v vocabulary) shapes() {
	for name, want := range methods {
		if got, ok := v.shape(name); ok && got != reflect.TypeOf(want) {
			v.t.Errorf("%v.%s is a %v, elsewhere a %T", v.typ, name, got, want)
		}
	}
}

func (v vocabulary) together() {
	for _, family := range families {
		if !v.has(family[0]) {
			continue
		}
		for _, name := range family[1:] {
			if !v.has(name) {
				v.t.Errorf("%v has %s, and %s: %v", v.typ, family[0], name, false)
			}
		}
	}
	if v.has("Add") && v.has("Insert") {
		v.t.Errorf("%v has both Add and Insert", v.typ)
	}
}

// clones asks that Clone returns a filter of its own type.
func (v vocabulary) clones(want any) {
	got, ok := v.shape("Clone")
	if ok != (want != nil) {
		v.t.Errorf("%v has a Clone: %v", v.typ, ok)
	}
	if !ok || want == nil {
		return
	}
	if shape := reflect.FuncOf(nil, []reflect.Type{reflect.TypeOf(want)}, false); got != shape {
		v.t.Errorf("%v.Clone is a %v, want %v", v.typ, got, shape)
	}
}

// sums asks that filters with Add unite and filters with Insert merge.
func (v vocabulary) sums() {
	for name, with := range map[string]string{"Union": "Add", "Merge": "Insert"} {
		got, ok := v.shape(name)
		if !ok {
			continue
		}
		other := v.typ
		if other == reflect.TypeFor[*bloom.Concurrent]() {
			other = reflect.TypeFor[*bloom.Filter]() // two would have to be locked at once
		}
		if shape := reflect.FuncOf([]reflect.Type{other}, []reflect.Type{reflect.TypeFor[error]()}, false); got != shape || !v.has(with) {
			v.t.Errorf("%v.%s is a %v; it has %s: %v", v.typ, name, got, with, v.has(with))
		}
	}
}

// TestFiltersPrintTheirState asks that a filter or view that is printed is a line on
// its state, not its array.
func TestFiltersPrintTheirState(t *testing.T) {
	for _, k := range codec.Kinds() {
		f, err := filledKind(k, hashes(10, 1), 10, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := codec.Config{}.View(encoded(t, f))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []bloomery.Hashed{f, v} {
			if got, want := fmt.Sprint(f), f.Stats().String(); got != want || !strings.HasPrefix(got, k.Name) {
				t.Errorf("%T prints %.80q, want %q", f, got, want)
			}
		}
	}
}

// TestOtherKinds opens each kind as the one before it: the error names both.
func TestOtherKinds(t *testing.T) {
	kinds := codec.Kinds()
	kinds = append(kinds, kinds[0])
	for i, k := range kinds[1:] {
		f, err := filledKind(kinds[i], hashes(10, 1), 10, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		other, err := filledKind(k, hashes(10, 1), 10, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		into, ok := f.(encoding.BinaryUnmarshaler)
		if !ok {
			continue // a quorum, which only a function decodes
		}
		err = into.UnmarshalBinary(encoded(t, other))
		if want := "the filter is of kind " + k.Name + ", not of kind " + kinds[i].Name; !errors.Is(err, bloomery.ErrIncompatible) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestTablesHaveEveryKind asks that no family is left out of the tables of types that
// are written by hand: its laws would not be asked for.
func TestTablesHaveEveryKind(t *testing.T) {
	family := func(v any) string {
		typ := reflect.TypeOf(v).Elem()
		name, _, _ := strings.Cut(typ.Name(), "[") // a family may have a type for each width
		return typ.PkgPath() + "." + name
	}
	in := map[string]int{}
	for _, c := range zeros {
		in[family(c.zero)] |= 1
	}
	for _, c := range speakers {
		in[family(c.value)] |= 2
	}
	for _, k := range codec.Kinds() {
		var v bloomery.Hashed
		var err error
		if k.Features.Static {
			v, err = k.Build([]uint64{1, 2, 3}, 0.01, hashing.Hasher{})
		} else {
			v, err = k.New(100, 0.1, hashing.Hasher{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if in[family(v)] != 3 {
			t.Errorf("%s: %T is missing in zeros or speakers", k.Name, v)
		}
	}
}
