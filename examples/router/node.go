package main

import (
	"fmt"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
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

// fill spreads rows over nodes, copies of each; of every hundredth row one is lost.
func fill(s size) []*node {
	nodes := make([]*node, s.nodes)
	for i := range nodes {
		nodes[i] = &node{name: fmt.Sprintf("%snode:%d", prefix, i)}
		for range s.tables {
			nodes[i].tables = append(nodes[i].tables, table{map[string]bool{}, bloom.New(s.rows*5/4, tableRate)})
		}
	}
	for i := range s.stored() {
		h := hashing.Hasher{}.HashString("place " + row(i))
		first, away := int(h%uint64(s.nodes)), 1+int((h>>40)%uint64(s.nodes-1))
		to := int((h >> 20) % uint64(s.tables))
		nodes[first].tables[to].put(row(i))
		if i%100 != 1 {
			nodes[(first+away)%s.nodes].tables[to].put(row(i))
		}
	}
	return nodes
}

// summary returns a filter of all rows, in the format of files.
func (n *node) summary(capacity int, rate float64) string {
	f := bloom.New(capacity, rate)
	for _, t := range n.tables {
		for key := range t.rows {
			f.AddString(key)
		}
	}
	data, err := f.MarshalBinary()
	if err != nil { // of an empty Filter alone
		panic(err)
	}
	return string(data)
}

// get reports whether a row is there, and counts the tables that were read.
func (n *node) get(key string, reads *int) (ok bool) {
	for i := 0; i < len(n.tables) && !ok; i++ {
		if t := n.tables[i]; t.filter.ContainsString(key) {
			*reads++
			ok = t.rows[key]
		}
	}
	return ok
}

func (n *node) put(key string) { n.tables[0].put(key) }

func (t table) put(key string) {
	t.rows[key] = true
	t.filter.AddString(key)
}

// delete reports whether the row was there.
func (n *node) delete(key string) (ok bool) {
	for _, t := range n.tables {
		ok = ok || t.rows[key]
		delete(t.rows, key)
	}
	return ok
}
