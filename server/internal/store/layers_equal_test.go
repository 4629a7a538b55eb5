package store_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/ribbon"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestRecordsOfBeforeGiveTheSameBytes applies records as releases of level 1 have
// written them: a filter that was grown, full or over its rate, and took more keys.
// The sums are those of such a release.
func TestRecordsOfBeforeGiveTheSameBytes(t *testing.T) {
	for _, c := range []struct {
		before, after int
		sum           string
	}{
		{1000, 1000, "d0841f5a0ded9f1f14771d7a2d497f5d06004eb25626626828183fe0675318e0"},
		{1000, 9000, "5986e38bcd2ff1bd1082798569ca9fc0ee7d208360ff6ed30e0f3b2261568abb"},
		{3000, 9000, "9907d2b2f9f47e8b4abb36e33230b3979bf2846c770408e2a41515b44631418e"}, // over its rate
	} {
		s := store.New()
		e := apply(t, s, creation(t, 1000, 0)).Entry
		hs := hashes(c.after)
		apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs[:c.before]}})
		grow := store.Record{ID: e.ID, Body: &store.FilterGrow{Equal: true, Rate: 0.02}}
		if res := apply(t, s, grow); res.Err != nil {
			t.Fatal(res.Err)
		}
		apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs[c.before:]}})
		if got := fmt.Sprintf("%x", sha256.Sum256(dump(contents.PartOf(e).Contents()))); got != c.sum {
			t.Errorf("%d keys, grown, %d keys: sum %s, want %s", c.before, c.after, got, c.sum)
		}
	}
}

// TestScaleRefusesWhatIsOverItsRate applies the record of today: a filter that is over
// its rate stays what it is.
func TestScaleRefusesWhatIsOverItsRate(t *testing.T) {
	s := store.New()
	e := apply(t, s, creation(t, 1000, 0)).Entry
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hashes(3000)}})
	before := string(dump(contents.PartOf(e).Contents()))
	scale := store.Record{ID: e.ID, Body: &store.FilterGrow{Rate: 0.02}}
	if res := apply(t, s, scale); !errors.Is(res.Err, bloomery.ErrParameter) || res.Changed || string(dump(contents.PartOf(e).Contents())) != before {
		t.Errorf("a filter over its rate: %v, changed %v", res.Err, res.Changed)
	}
	scale.Body = &store.FilterGrow{Rate: 0.9}
	if res := apply(t, s, scale); res.Err != nil || contents.PartOf(e).Row().Name != "scalable" {
		t.Errorf("with a rate that can be kept: %v", res.Err)
	}
}

// TestCheckLevel asks that only filters which older nodes cannot read wait for a level.
func TestCheckLevel(t *testing.T) {
	flat, _ := bloom.NewScalable(100, 0.01).MarshalBinary()
	equal, err := contents.EqualLayers(bloom.New(100, 0.00025), 0.01, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := bloom.New(100, 0.01).MarshalBinary()
	values, err := ribbon.BuildMap([]uint64{1}, []uint32{1}, 1, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	newer, _ := values.MarshalBinary()
	for _, c := range []struct {
		name  string
		data  []byte
		level uint64
		want  error
	}{
		{"map", newer, 1, bloomery.ErrVersion},
		{"map", newer, store.LevelShares, bloomery.ErrVersion},
		{"map", newer, store.LevelShards, nil},
		{"flat shares", flat, 1, bloomery.ErrVersion},
		{"flat shares", flat, store.LevelShares, nil},
		{"equal shares", equal, 1, nil},
		{"bloom", other, 1, nil},
		{"nothing", nil, 1, nil},
		{"a part", flat[:64], 1, nil},
	} {
		if err := store.CheckLevel(c.data, c.level); !errors.Is(err, c.want) {
			t.Errorf("%s at level %d: %v, want %v", c.name, c.level, err, c.want)
		}
	}
	for _, k := range codec.Kinds() {
		if level := store.KindLevel(k.Number); level > store.LevelRebuilds {
			t.Errorf("there is no level at which all nodes of a cluster know kind %s: kindLevels lacks it", k.Name)
		}
	}
	if f, err := codec.Open(equal); err != nil || f.Stats().Asked != 0.01 {
		t.Errorf("EqualLayers: %v", err)
	}
}

// TestClearKeepsTheRate empties a filter that has grown by the rule of clusters of before.
func TestClearKeepsTheRate(t *testing.T) {
	data, err := contents.EqualLayers(bloom.New(2000, 0.01), 0.49, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	var f bloom.Scalable
	if err := f.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	f.Clear()
	if got := f.Stats().Asked; got != 0.5 {
		t.Errorf("the rate asked for is %v after Clear, want 0.5", got)
	}
}
