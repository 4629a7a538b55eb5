package codec_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/bits"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

func inspected(t *testing.T, data []byte) codec.Info {
	t.Helper()
	i, err := codec.Inspect(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Inspect reports of a filter with a secret key what can be known without it.
func TestInspect(t *testing.T) {
	key := hashing.Keyed([16]byte{3})
	f, err := bloom.Config{Capacity: 1000, ErrorRate: 0.01, Hasher: key}.New()
	if err != nil {
		t.Fatal(err)
	}
	f.AddHashes(nil, hashes(200, 1))
	data := encoded(t, f)
	set := uint64(0)
	for _, b := range data[64 : 64+f.Shape().Bits/8] {
		set += uint64(bits.OnesCount8(b))
	}
	want := codec.Info{
		Kind: 1, Name: "bloom", Hash: hashing.SipHash, Check: key.Check(), K: f.Shape().K, Bits: f.Shape().Bits,
		Capacity: 1000, Rate: 0.01, Payload: f.Shape().Bits / 8, Size: uint64(len(data)), Read: int64(len(data)), Set: set,
	}
	got := inspected(t, data)
	want.Identity = got.Identity
	if !reflect.DeepEqual(got, want) || got.Err() != nil || got.Identity == 0 {
		t.Errorf("Inspect = %+v, want %+v", got, want)
	}
	small := compressed(t, data)
	want.Form, want.Read = codec.FormTransport, int64(len(small))
	if got := inspected(t, small); !reflect.DeepEqual(got, want) {
		t.Errorf("transport form: Inspect = %+v, want %+v", got, want)
	}
	patch, err := codec.Diff(data, data)
	if err != nil {
		t.Fatal(err)
	}
	want.Form, want.Read, want.Base, want.Set = codec.FormPatch, int64(len(patch)), want.Identity, 0
	if got := inspected(t, patch); !reflect.DeepEqual(got, want) {
		t.Errorf("patch: Inspect = %+v, want %+v", got, want)
	}
}

// Every kind is told by its name and what its header says, in both forms.
func TestInspectKinds(t *testing.T) {
	type want struct {
		data []byte
		name string
		kind uint16
	}
	all := []want{{encoded(t, slicedFilter(t)), "sliced", 6}}
	for _, k := range codec.Kinds() {
		all = append(all, want{encoded(t, made(t, k, 100, 300, hashing.Hasher{})), k.Name, k.Number})
	}
	for _, w := range all {
		for _, data := range [][]byte{w.data, compressed(t, w.data)} {
			got := inspected(t, data)
			if got.Name != w.name || got.Kind != w.kind || got.Size != uint64(len(w.data)) || math.Abs(got.Rate-0.01) > 1e-12 || got.Err() != nil {
				t.Errorf("Inspect = %+v, want kind %d (%s) of %d bytes at 1%%", got, w.kind, w.name, len(w.data))
			}
		}
		bad := bytes.Clone(w.data)
		bad[100] ^= 1
		if got := inspected(t, bad); got.Name != w.name || len(got.Damage) != 1 {
			t.Errorf("damaged %s: Inspect = %+v, want one damage", w.name, got)
		}
	}
	grown := bloom.NewScalable(100, 0.01)
	grown.AddHashes(nil, hashes(1000, 1))
	got := inspected(t, encoded(t, grown))
	if st := grown.Stats(); got.K != 2 || got.Capacity != 100 || got.Bits != st.Bits || int(got.Extra) != grown.Layers() {
		t.Errorf("Inspect = %+v of a filter with %d layers, %+v", got, grown.Layers(), st)
	}
}

func TestInspectUnknownKind(t *testing.T) {
	got := inspected(t, resealed(encoded(t, bloom.New(100, 0.01)), 10, 99))
	if got.Kind != 99 || got.Name != "" || got.Err() != nil {
		t.Errorf("Inspect = %+v, want kind 99 without a name", got)
	}
}

// All damage is told by its offset, not the first alone.
func TestInspectDamage(t *testing.T) {
	data := encoded(t, sparse(t, 5<<23+64, 0.1, 4)) // 5 MiB and a word
	end := uint64(64 + 5<<20 + 8)
	flip := func(at ...int) []byte {
		bad := bytes.Clone(data)
		for _, i := range at {
			bad[i] ^= 1
		}
		return bad
	}
	for _, c := range []struct {
		name string
		data []byte
		want [][2]uint64
	}{
		{"sound", data, nil},
		{"two chunks", flip(64, 64+3<<20, 64+3<<20+9), [][2]uint64{{64, 64 + 1<<20}, {64 + 3<<20, 64 + 4<<20}}},
		{"the last word", flip(64 + 5<<20 + 3), [][2]uint64{{64 + 5<<20, end}}},
		{"the table", flip(int(end) + 2), [][2]uint64{{end, uint64(len(data))}}},
		{"cut in the payload", data[:1<<20], [][2]uint64{{1<<20 - 1<<20%65536 - 65536 + 64, uint64(len(data))}}},
		{"cut in the table", data[:len(data)-1], [][2]uint64{{end, uint64(len(data))}}},
		{"too long", append(bytes.Clone(data), 0), [][2]uint64{{uint64(len(data)), uint64(len(data))}}},
	} {
		got := inspected(t, c.data)
		var places [][2]uint64
		for _, d := range got.Damage {
			places = append(places, [2]uint64{d.From, d.To})
		}
		if !reflect.DeepEqual(places, c.want) {
			t.Errorf("%s: damage at %v, want %v (%+v)", c.name, places, c.want, got.Damage)
		}
		if err := got.Err(); (err == nil) != (c.want == nil) || err != nil && !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: Err() = %v", c.name, err)
		}
	}
}

func TestInspectRefuses(t *testing.T) {
	data := encoded(t, bloom.New(100, 0.01))
	flipped := bytes.Clone(data)
	flipped[20] ^= 1
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"nothing": {nil, bloomery.ErrCorrupt}, "half a header": {data[:30], bloomery.ErrCorrupt},
		"a damaged header": {flipped, bloomery.ErrCorrupt}, "a later version": {resealed(data, 8, 9), bloomery.ErrVersion},
		"text": {bytes.Repeat([]byte("text"), 30), bloomery.ErrCorrupt}, "the start of a transport form": {compressed(t, data)[:50], bloomery.ErrCorrupt},
	} {
		if _, err := codec.Inspect(bytes.NewReader(c.data)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	broken := errors.New("broken pipe")
	for _, n := range []int{0, 4, 30, 100, len(data) - 2, len(data)} {
		if _, err := codec.Inspect(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("a reader that fails after %d bytes: %v", n, err)
		}
	}
}
