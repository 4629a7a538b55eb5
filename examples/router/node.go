package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

// node has tables, as an LSM tree does: they do not change, and newer ones are read first.
type node struct {
	rows    *cuckoo.Filter // of all its rows, which can be deleted: its summary
	tables  []*table
	recent  map[string]string // not in a table yet
	deleted map[string]bool
}

type table struct {
	rows   map[string]string
	filter *ribbon.Filter
}

// fill spreads rows over nodes, copies of each; of every hundredth row one is lost.
func fill(s size, rows int) []*node {
	nodes := make([]*node, s.nodes)
	for i := range nodes {
		nodes[i] = &node{recent: map[string]string{}, deleted: map[string]bool{}, rows: cuckoo.New(s.tables*s.rows*5/4, nodeRate)}
		for range s.tables {
			nodes[i].tables = append(nodes[i].tables, &table{rows: map[string]string{}})
		}
	}
	for i := range rows {
		key := row(i)
		h := hashing.Hasher{}.HashString("place " + key)
		for c := range copies {
			if c == 1 && i%100 == 1 {
				continue
			}
			n := nodes[(int(h%uint64(s.nodes))+c*(1+int((h>>40)%uint64(s.nodes-1))))%s.nodes]
			n.tables[int((h>>20)%uint64(s.tables))].rows[key] = "value of " + key
		}
	}
	return nodes
}

// seal makes the filters of a node: one for each table, and the summary.
func (n *node) seal(ctx context.Context) error {
	for _, t := range n.tables {
		var hashes []uint64
		for _, key := range slices.Sorted(maps.Keys(t.rows)) { // so that every run makes the same filters
			h := n.rows.Hasher().HashString(key)
			hashes = append(hashes, h)
			if err := n.rows.InsertHash(h); err != nil {
				return err
			}
		}
		var err error
		if t.filter, err = (ribbon.Config{ErrorRate: tableRate}).Build(ctx, hashes); err != nil {
			return err
		}
	}
	return nil
}

// get returns a row, and counts the tables that were read.
func (n *node) get(key string, reads *int) (string, bool) {
	if value, ok := n.recent[key]; ok || n.deleted[key] {
		return value, ok
	}
	for _, t := range n.tables {
		if !t.filter.ContainsString(key) {
			continue
		}
		*reads++
		if value, ok := t.rows[key]; ok {
			return value, true
		}
	}
	return "", false
}

func (n *node) put(key, value string) error {
	delete(n.deleted, key)
	n.recent[key] = value
	if err := n.rows.InsertString(key); err != nil {
		return fmt.Errorf("summary of a node: %w", err)
	}
	return nil
}

// delete marks a row as deleted, and reports whether it was there. The filters of tables keep it
// until tables are written anew.
func (n *node) delete(key string) bool {
	var reads int
	if _, ok := n.get(key, &reads); !ok {
		return false
	}
	delete(n.recent, key)
	n.deleted[key] = true
	return n.rows.DeleteString(key)
}
