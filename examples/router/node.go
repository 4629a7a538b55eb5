package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/bloomery/bloomery/bloom"
)

// node has rows in tables, each with a filter.
type node struct {
	name   string // of its filter on the server
	tables []table
}

type table struct {
	rows   map[string]bool
	filter *bloom.Filter
}

func (t table) put(key string) {
	t.rows[key] = true
	t.filter.AddString(key)
}

// fill spreads rows over nodes, copies of each; of every hundredth row one is lost.
func fill(s size, rng *rand.Rand) []*node {
	nodes := make([]*node, s.nodes)
	for i := range nodes {
		nodes[i] = &node{name: fmt.Sprintf("%snode:%d", prefix, i)}
		for range s.tables {
			nodes[i].tables = append(nodes[i].tables, table{map[string]bool{}, bloom.New(s.rows*5/4, tableRate)})
		}
	}
	for i := range s.stored() {
		on := rng.Perm(s.nodes)[:copies]
		if i%100 == 1 {
			on = on[:1]
		}
		for _, at := range on {
			nodes[at].tables[rng.IntN(s.tables)].put(row(i))
		}
	}
	return nodes
}

// summary returns a filter of all rows, in the format of files.
func (n *node) summary(capacity int, rate float64) (string, error) {
	f := bloom.New(capacity, rate)
	for _, t := range n.tables {
		for key := range t.rows {
			f.AddString(key)
		}
	}
	data, err := f.MarshalBinary()
	return string(data), err
}

// find returns the table that has a row, or false, and counts the tables that were read.
func (n *node) find(key string, reads *int) (table, bool) {
	for _, t := range n.tables {
		if t.filter.ContainsString(key) {
			*reads++
			if t.rows[key] {
				return t, true
			}
		}
	}
	return table{}, false
}
