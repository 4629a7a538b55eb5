package main

import (
	"slices"
	"strings"
)

// benchCase is one run of redis-benchmark.
type benchCase struct {
	name     string
	pipeline int
	redis    bool     // runs against Redis: the yardstick
	tls      bool     // over TLS, ours only
	args     []string // the command
	items    int      // items per request
	before   []string // commands to run first; CAPACITY stands for it
	target   float64  // Redis's CPU per PING over ours per item, at least; 0 for none
}

// Keys are drawn from twice as many as the filters hold: half of them are there.
const (
	key        = "__rand_int__"
	emptyBloom = "BF.RESERVE bf:fresh 0.01 CAPACITY"
	emptyCuck  = "CF.RESERVE cf:fresh CAPACITY"
	emptyFilt  = "FILTER.CREATE fl:fresh bloom capacity CAPACITY" // the word in capitals stands for a number
	// Sketches of usual sizes, 56 KB and 400 KB, whatever the capacity.
	emptyCountMin = "CMS.INITBYPROB cms 0.001 0.01"
	emptyTopK     = "TOPK.RESERVE topk 100 10000 5 0.9"
)

// sketch reports whether the command is one on a sketch.
func (c benchCase) sketch() bool {
	return strings.HasPrefix(c.name, "CMS") || strings.HasPrefix(c.name, "TOPK") || strings.HasPrefix(c.name, "TDIGEST")
}

// cases returns all runs of a round in their order.
func cases() []benchCase {
	many := strings.Fields(strings.Repeat(key+" ", 100))
	targets := map[string][3]float64{ // pipeline 1, 16, 64
		"BF.EXISTS": {0, 0.85, 0.95}, "BF.ADD": {0, 0.68, 0.75},
		"CF.EXISTS": {0, 0.85, 1.05}, "CF.ADD": {0, 0.85, 1.15}, "CF.DEL": {0, 0.85, 1.15},
		"FILTER.HAS": {0, 0.9, 1.1}, "FILTER.ADD": {0, 0.75, 0.85},
		"CMS.INCRBY": {0, 0, 0.8}, "CMS.QUERY": {0, 0, 0.8}, "TDIGEST.ADD": {0, 0, 0.8},
	}
	var all []benchCase
	for i, p := range []int{1, 16, 64} {
		all = append(all,
			benchCase{name: "Redis PING", pipeline: p, redis: true, args: []string{"PING"}, items: 1},
			benchCase{name: "PING", pipeline: p, args: []string{"PING"}, items: 1},
		)
		for _, c := range []benchCase{
			{name: "BF.EXISTS", args: []string{"BF.EXISTS", "bf", key}},
			{name: "BF.ADD", args: []string{"BF.ADD", "bf:fresh", key}, before: []string{"DEL bf:fresh", emptyBloom}},
			{name: "CF.EXISTS", args: []string{"CF.EXISTS", "cf", key}},
			{name: "CF.ADD", args: []string{"CF.ADD", "cf:fresh", key}, before: []string{"DEL cf:fresh", emptyCuck}},
			{name: "CF.DEL", args: []string{"CF.DEL", "cf:fresh", key}},
			{name: "FILTER.HAS", args: []string{"FILTER.HAS", "fl", key}},
			{name: "FILTER.ADD", args: []string{"FILTER.ADD", "fl:fresh", key}, before: []string{"DEL fl:fresh", emptyFilt}},
			{name: "CMS.INCRBY", args: []string{"CMS.INCRBY", "cms", key, "1"}, before: []string{"DEL cms", emptyCountMin}},
			{name: "CMS.QUERY", args: []string{"CMS.QUERY", "cms", key}},
			{name: "TOPK.ADD", args: []string{"TOPK.ADD", "topk", key}, before: []string{"DEL topk", emptyTopK}},
			{name: "TDIGEST.ADD", args: []string{"TDIGEST.ADD", "td", key}, before: []string{"DEL td", "TDIGEST.CREATE td"}},
		} {
			if p == 1 && c.sketch() {
				continue
			}
			c.pipeline, c.items, c.target = p, 1, targets[c.name][i]
			all = append(all, c)
			if c.name == "BF.EXISTS" && hasTLS() {
				c.tls, c.target = true, 0
				all = append(all, c)
			}
		}
		if p == 16 {
			all = append(all,
				benchCase{name: "BF.MEXISTS of 100", pipeline: p, items: 100, target: 3.3, args: append([]string{"BF.MEXISTS", "bf"}, many...)},
				benchCase{
					name: "FILTER.HAS of 1,000", pipeline: p, items: 1000, target: 8,
					args: append([]string{"FILTER.HAS", "fl"}, slices.Repeat(many, 10)...),
				},
				benchCase{
					name: "FILTER.ADD of 1,000", pipeline: p, items: 1000, target: 5,
					args:   append([]string{"FILTER.ADD", "fl:fresh"}, slices.Repeat(many, 10)...),
					before: []string{"DEL fl:fresh", emptyFilt},
				},
				benchCase{
					name: "TDIGEST.ADD of 1,000", pipeline: p, items: 1000,
					args:   append([]string{"TDIGEST.ADD", "td"}, slices.Repeat(many, 10)...),
					before: []string{"DEL td", "TDIGEST.CREATE td"},
				},
				benchCase{
					name: "BF.MADD of 100", pipeline: p, items: 100, target: 2.3, args: append([]string{"BF.MADD", "bf:fresh"}, many...),
					before: []string{"DEL bf:fresh", emptyBloom},
				},
			)
		}
	}
	return all
}
