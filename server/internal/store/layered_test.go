package store_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestHostileLayers makes layers from headers that nobody writes.
func TestHostileLayers(t *testing.T) {
	names := make([]string, contents.MaxLayers+1)
	for i := range names {
		names[i] = string(rune('a' + i))
	}
	good := contents.AppendLayers(nil, names[:2])
	for name, header := range map[string][]byte{
		"nothing": nil, "none": contents.AppendLayers(nil, nil), "too many": contents.AppendLayers(nil, names),
		"twice": contents.AppendLayers(nil, []string{"a", "b", "a"}), "a byte more": append(bytes.Clone(good), 0),
		"a byte less": good[:len(good)-1], "very many": {1, 255, 255, 255, 255, 255, 255, 255, 255, 127, 1},
		"a long name": contents.AppendLayers(nil, []string{string(make([]byte, contents.MaxLayerNames+1000))}),
	} {
		res := apply(t, store.New(), store.Record{Body: &store.Make{As: store.OpLayers, Name: []byte("l"), Header: header}})
		if !errors.Is(res.Err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v", name, res.Err)
		}
		if _, err := store.New().NewLoader(catalog.Layers, header, int64(len(header))); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s in a snapshot: %v", name, err)
		}
	}
	later := bytes.Clone(good)
	later[0] = 2
	if res := apply(t, store.New(), store.Record{Body: &store.Make{As: store.OpLayers, Name: []byte("l"), Header: later}}); !errors.Is(res.Err, bloomery.ErrVersion) {
		t.Errorf("a later version: %v", res.Err)
	}
	if _, err := store.New().NewLoader(catalog.Layers, good, int64(len(good))+1); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a copy of more than one piece: %v", err)
	}
}
