package web

import (
	"maps"
	"math"
	"strings"
	"testing"
)

// TestFigures writes numbers as people do.
func TestFigures(t *testing.T) {
	day := int64(86400)
	for _, test := range []struct{ got, want string }{
		{grouped(0), "0"},
		{grouped(999), "999"},
		{grouped(1000), "1,000"},
		{grouped(-1234567), "-1,234,567"},
		{grouped(math.MaxInt64), "9,223,372,036,854,775,807"},
		{calls(0), "0 calls"},
		{calls(1), "1 call"},
		{calls(2000), "2,000 calls"},
		{problem{message: "NOAUTH Authentication required."}.Sentence(), "Authentication required."},
		{problem{message: "the token is wrong"}.Sentence(), "The token is wrong."},
		{short(999), "999"},
		{short(1000), "1 k"},
		{short(41_938), "41.9 k"},
		{short(2_500_000), "2.5 M"},
		{short(7e12), "7 T"},
		{percent(0), "0%"},
		{percent(0.01), "1%"},
		{percent(0.0098765), "0.988%"},
		{percent(1), "100%"},
		{percent(1e-6), "0.0001%"},
		{percent(0), "0%"},
		{percent(1e-30), "under 0.000001%"},
		{percent(math.NaN()), "–"},
		{between(0.009, 0.011), "0.9–1.1%"},
		{between(0, 0.002), "0–0.2%"},
		{between(0, 1e-6), "0–0.0001%"},
		{byteSize(0), "0 B"},
		{byteSize(1023), "1,023 B"},
		{byteSize(1024), "1 KiB"},
		{byteSize(1 << 20), "1 MiB"},
		{byteSize(5 << 39), "2.5 TiB"},
		{age(0), "0 s"},
		{age(59), "59 s"},
		{age(60), "1 min"},
		{age(3599), "59 min 59 s"},
		{age(day - 1), "23 h 59 min"},
		{age(365*day - 1), "364 d 23 h"},
		{age(365 * day), "1 y"},
		{age(3661), "1 h 1 min"},
		{age(2*day + 7200), "2 d 2 h"},
		{age(400 * day), "1 y 35 d"},
		{grouped(figureFuncs["seconds"].(func(any) int64)(int64(89_999))), "89"},
		{micros(0), "–"},
		{micros(12.34), "12.3 µs"},
		{micros(1500), "1.5 ms"},
		{micros(2e6), "2 s"},
		{shown("users"), "users"},
		{shown(""), `""`},
		{shown("a\nb"), `"a\nb"`},
		{shown("\xff"), `"\xff"`},
		{shown("snow☃man"), "snow☃man"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
	for share, want := range map[float64]float64{-1: 0, 0.123456: 12.3, 2: 100, math.Inf(1): 100} {
		if got := barWidth(share); got != want {
			t.Errorf("barWidth(%v) = %v, want %v", share, got, want)
		}
	}
	if got := barWidth(math.NaN()); got != 0 {
		t.Errorf("barWidth(NaN) = %v, want 0", got)
	}
}

// TestDensityCells places cells row by row, the darker the fuller.
func TestDensityCells(t *testing.T) {
	shares := make([]float64, 40)
	shares[1], shares[33], shares[39] = 0.001, 0.5, 1
	cells := densityCells(shares)
	for i, want := range map[int]cell{0: {0, 0, 0, 0}, 1: {1, 0, 1, 0.001}, 33: {1, 1, 5, 0.5}, 39: {7, 1, 9, 1}} {
		if cells[i] != want {
			t.Errorf("cell %d = %v, want %v", i, cells[i], want)
		}
	}
	list := make([]any, len(shares))
	for i := range list {
		list[i] = shares[i]
	}
	v := filterRow{"kind": "bf", "density": object{"unit": "bits", "cells": list}}
	if d := v.Densities(); len(d) != 1 || d[0].Rows != 2 || d[0].Text != "Between 0% and 100% of the bits of each piece are set." {
		t.Errorf("of one array: %+v", d)
	}
	// Two parts, with two layers each, of which the second is the larger one.
	arrays := make([]any, len(list))
	for i := range arrays {
		arrays[i] = float64(min(1, i%20/4))
	}
	v["density"].(object)["arrays"] = arrays
	d := v.Densities()
	if len(d) != 2 || d[0].Name != "Layer 1" || len(d[0].Cells) != 8 || d[0].Text != "Between 0% and 0.1% of the bits of each piece are set." ||
		d[1].Name != "Layer 2" || len(d[1].Cells) != 32 || d[1].Rows != 1 || d[1].Text != "Between 0% and 100% of the bits of each piece are set." {
		t.Errorf("of two layers: %+v", d)
	}
	if v["kind"] = "window"; v.Densities()[0].Name != "Array 1" {
		t.Error("the array of a window is called that of a layer")
	}
}

// TestOutlook says when a filter is full.
func TestOutlook(t *testing.T) {
	for _, test := range []struct {
		set  filterRow
		want string
	}{
		{nil, "No forecast"},
		{filterRow{"projection": object{"items_per_second": nil, "full_at": nil}}, "no steady pace"},
		{filterRow{"projection": object{"items_per_second": 0.0, "full_at": nil}}, "No items came in the last 10 minutes"},
		{filterRow{"projection": object{"items_per_second": 2.5, "full_at": nil}}, "does not get full"},
		{filterRow{"projection": object{"items_per_second": 2.5, "full_at": "2026-12-24T18:30:00Z"}}, "At 2.5 items a second it is full on Thursday, 24 December 2026, 18:30 UTC."},
		{filterRow{"items": 100.0}, "as many items as it was made for"},
		{filterRow{"items": 101.0}, "more items than it was made for"},
		{filterRow{"grows": true, "kind": "bf"}, "any number of items: it grows."},
		{filterRow{"grows": true, "kind": "window"}, "it forgets them by age."},
		{filterRow{"grows": true, "kind": "stable"}, "it forgets the oldest."},
	} {
		v := filterRow{"capacity": 100.0, "items": 10.0}
		maps.Copy(v, test.set)
		if got := v.Outlook(); !strings.Contains(got, test.want) {
			t.Errorf("Outlook() = %q, want %q in it", got, test.want)
		}
	}
}

// TestRateRows compares rates with the one asked for.
func TestRateRows(t *testing.T) {
	v := filterRow{"asked": 0.01, "predicted": 0.005, "probed": 0.04, "probed_low": 0.03, "probed_high": 0.05, "probed_state": "measured", "traffic_state": "too few", "probes": 1000.0}
	rows := v.Rows()
	for i, want := range []rateRow{
		{Name: "Asked", Rate: 0.01, Share: 0.25, Known: true},
		{Name: "Predicted", Rate: 0.005, Share: 0.125, Known: true},
		{Name: "Probed", Rate: 0.04, Share: 1, Known: true, Over: true},
		{Name: "Traffic"},
	} {
		got := rows[i]
		if got.Note == "" {
			t.Errorf("row %d has no note", i)
		}
		if got.Note = ""; got != want {
			t.Errorf("row %d = %+v, want %+v", i, got, want)
		}
	}
}

// TestCure names the cures that need no keys of the user's.
func TestCure(t *testing.T) {
	for command, want := range map[string]string{
		"FILTER.GROW users": "grow", "FILTER.FOLD users": "fold", "FILTER.REBUILD users BEGIN CAPACITY 10 ERROR 0.1": "", "": "", "SLOWLOG GET": "",
	} {
		v := filterRow{"command": command}
		if got := v.Cure(); got != want {
			t.Errorf("the cure of %q is %q, want %q", command, got, want)
		}
	}
}
