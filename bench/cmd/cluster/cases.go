package main

import (
	"fmt"
	"strconv"
)

// benchCase is a load that the cluster and a single server are put under in turn.
type benchCase struct {
	load
	before []string // commands that make its filters anew
	target float64  // adds: CPU over the single server's, at most; reads: the single server's over it, at least
}

// fewClients is how many clients there are, in all, where no more are named.
const fewClients = 8

// manyFilters is how many filters single adds go to, where not to one.
const manyFilters = 64

// cases returns what is measured in each round. Filters that are added to are made
// anew for each run, large enough for all that it adds; those that are read, bf and
// fl, hold every second of the numbers below twice the capacity.
func cases(capacity uint64) []benchCase {
	size := strconv.FormatUint(capacity, 10)
	all := []benchCase{
		{
			load:   load{name: "BF.MADD of 1,000", command: "BF.MADD", filter: "added", items: 1000},
			before: []string{"DEL added", "BF.RESERVE added 0.01 " + size}, target: 7,
		},
		{
			load:   load{name: "FILTER.ADD of 1,000", command: "FILTER.ADD", filter: "added", items: 1000},
			before: []string{"DEL added", "FILTER.CREATE added bloom CAPACITY " + size}, target: 7,
		},
	}
	var many []string
	for i := range manyFilters {
		many = append(many, fmt.Sprintf("DEL added%d", i), fmt.Sprintf("BF.RESERVE added%d 0.01 %d", i, max(1, capacity/manyFilters)))
	}
	for _, clients := range []int{fewClients, 3 * fewClients} {
		name := fmt.Sprintf("BF.ADD, pipeline 64, %d connections, ", clients)
		all = append(all, benchCase{
			load:   load{name: name + "one key", command: "BF.ADD", filter: "added", items: 1, pipeline: 64, clients: clients},
			before: []string{"DEL added", "BF.RESERVE added 0.01 " + size}, target: 8.5,
		}, benchCase{
			load:   load{name: name + "64 keys", command: "BF.ADD", filter: "added", filters: manyFilters, items: 1, pipeline: 64, clients: clients},
			before: many, target: 18,
		})
	}
	all = append(all, benchCase{
		load:   load{name: "BF.ADD, one by one, 1 connection", command: "BF.ADD", filter: "added", items: 1, clients: 1},
		before: []string{"DEL added", "BF.RESERVE added 0.01 " + size}, target: 97,
	})
	for i := range all {
		all[i].keys = capacity
	}
	for _, c := range []load{
		{name: "BF.EXISTS, pipeline 64", command: "BF.EXISTS", filter: "bf", items: 1, pipeline: 64},
		{name: "FILTER.HAS, pipeline 64", command: "FILTER.HAS", filter: "fl", items: 1, pipeline: 64},
		{name: "BF.MEXISTS of 100, pipeline 16", command: "BF.MEXISTS", filter: "bf", items: 100, pipeline: 16},
		{name: "FILTER.HAS of 100, pipeline 16", command: "FILTER.HAS", filter: "fl", items: 100, pipeline: 16},
	} {
		c.reads, c.keys = true, 2*capacity
		all = append(all, benchCase{load: c, target: 0.9})
	}
	for i := range all {
		c := &all[i]
		c.pipeline, c.filters = max(1, c.pipeline), max(1, c.filters)
		if c.clients == 0 {
			c.clients = fewClients
		}
	}
	return all
}
