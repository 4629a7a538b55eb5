package codec_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/ribbon"
)

// TestNoJSON asks that JSON of a filter is an error that names MarshalBinary, and never
// {}, which holds no key: for pointers, in other structs, and for values where they can
// be copied.
func TestNoJSON(t *testing.T) {
	filters := []any{
		new(bloom.Filter), new(bloom.Standard), new(bloom.Partitioned),
		new(bloom.Split), new(bloom.Scalable),
		new(bloom.Concurrent), new(bloom.Sliced),
		new(counting.Filter), new(counting.Spectral), new(counting.Stable),
		new(cuckoo.Filter), new(quotient.Filter), new(quotient.Growing),
		new(fuse.Filter[uint8]), new(ribbon.Filter), new(ribbon.Map), new(exact.Filter),
		new(compose.Window), new(compose.Quorum), new(compose.Striped), new(compose.Corrected), new(compose.Layers),
		new(redisbloom.Bloom), new(redisbloom.Cuckoo), new(redisbloom.CountMin), new(redisbloom.TopK), new(redisbloom.TDigest),
	}
	for _, k := range codec.Kinds() {
		filters = append(filters, viewOf(t, k))
	}
	for _, f := range filters {
		typ := reflect.TypeOf(f)
		values := []any{f, map[string]any{"filter": f}}
		switch typ.Elem().Name() {
		case "Striped", "Corrected", "Layers", "Concurrent": // have locks and are not copied
		default:
			values = append(values, reflect.ValueOf(f).Elem().Interface())
		}
		for _, v := range values {
			if text, err := json.Marshal(v); err == nil || !strings.Contains(err.Error(), "MarshalBinary") {
				t.Errorf("JSON of %v as %T: %s, %v", typ, v, text, err)
			}
		}
		if err := json.Unmarshal([]byte("{}"), f); err == nil || !strings.Contains(err.Error(), "MarshalBinary") {
			t.Errorf("%v from JSON: %v", typ, err)
		}
	}
}

// TestGob asks that gob, which takes MarshalBinary, brings a filter back.
func TestGob(t *testing.T) {
	f := bloom.New(100, 0.01)
	f.AddString("alice")
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(f); err != nil {
		t.Fatal(err)
	}
	var g bloom.Filter
	if err := gob.NewDecoder(&buf).Decode(&g); err != nil || !g.ContainsString("alice") || g.Stats() != f.Stats() {
		t.Errorf("gob brings back %v: %v", &g, err)
	}
}
