package web

// The page of one filter.

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// filterTab shows the filter that a reference names: the segment of its path in the
// API.
func (c *call) filterTab(ref string) error {
	return c.showTab(frame{Tab: "filters", Title: "Filter"}, func(f *frame) error {
		segment, err := url.PathUnescape(ref)
		if err != nil {
			return notFound
		}
		name, err := readRef(segment)
		if err != nil {
			return err
		}
		o, err := c.describeAll(name)
		if err != nil {
			return err
		}
		o["name"], o["name_base64"], o["ref"] = name, nil, refOf(name)
		f.Title, f.Filter = shown(name), filterRow(o)
		return c.setAbilities(f.Filter)
	})
}

// Path is the path of the filter in the API, relative to that.
func (r filterRow) Path() string { return "filters/" + r.text("ref") }

// figure is a line of the page of a sketch.
type figure struct {
	Name, Text string
	Live       bool // it changes with the items
}

// SketchFigures returns what there is to know of a sketch.
func (r filterRow) SketchFigures() (lines []figure) {
	for _, f := range []struct {
		field, name string
		write       func(any) string
		live        bool
	}{
		{"count", "Count of all items", ofWhole(grouped), true},
		{"width", "Width", ofWhole(grouped), false},
		{"depth", "Depth", ofWhole(grouped), false},
		{"error_bound", "Error bound", func(v any) string { return percent(numberOf(v)) + " of the count" }, false},
		{"error_probability", "Probability of more", ofNumber(percent), false},
		{"k", "k", ofWhole(grouped), false},
		{"decay", "Decay", func(v any) string { return fmt.Sprint(v) }, false},
		{"least_count", "Least count among the top", ofWhole(grouped), true},
		{"compression", "Compression", ofWhole(grouped), false},
		{"capacity_nodes", "Nodes it has room for", ofWhole(grouped), false},
		{"merged_nodes", "Merged nodes", ofWhole(grouped), true},
		{"unmerged_nodes", "Unmerged nodes", ofWhole(grouped), true},
		{"compressions", "Compressions", ofWhole(grouped), false},
		{"queries", "Items asked for", ofWhole(grouped), true},
		{"stopped", "Stopped by a filter", ofWhole(grouped), true},
		{"found", "Let pass by all", ofWhole(grouped), true},
	} {
		if v := r[f.field]; v != nil {
			lines = append(lines, figure{f.name, f.write(v), f.live})
		}
	}
	return lines
}

// History returns the points of the chart as JSON.
func (r filterRow) History() (string, error) {
	data, err := encode(r["history"])
	return strings.TrimSpace(string(data)), err
}

// Places returns the numbers of the nodes that hold the filter, "" where every node does; of
// several parts, each with how many it holds.
func (r filterRow) Places() string {
	var places []string
	for place := range strings.FieldsSeq(r.text("nodes")) {
		node, parts, _ := strings.Cut(place, ":")
		switch {
		case r.whole("parts") > 1 && parts == "1":
			node += " (1 part)"
		case r.whole("parts") > 1:
			node += " (" + parts + " parts)"
		}
		places = append(places, node)
	}
	return strings.Join(places, ", ")
}

// Rows returns the rates with their bars, as shares of the largest.
func (r filterRow) Rows() []rateRow {
	rows := []rateRow{
		{Name: "Asked", Rate: r.number("asked"), Known: true, Note: "at its capacity"},
		{Name: "Predicted", Rate: r.number("predicted"), Known: true, Note: "by the model, for the bits that are set now"},
		{Name: "Probed", Note: r.text("probed_state")},
		{Name: "Traffic", Note: r.text("traffic_state")},
	}
	if r["probed"] != nil && r.whole("probes") > 0 {
		rows[2].Rate, rows[2].Known = r.number("probed"), true
		rows[2].Note = "95% between " + percent(r.number("probed_low")) + " and " + percent(r.number("probed_high")) + ", " + grouped(r.whole("probes")) + " probes"
		if !r.Measured() {
			rows[2].Note += "; " + r.text("probed_state")
		}
	}
	if r.Counted() {
		rows[3].Rate, rows[3].Known = r.number("traffic"), true
		rows[3].Note = grouped(r.whole("false_reported")) + " reported false, " + grouped(r.whole("negatives")) + " negative"
	}
	most := r.number("asked")
	for _, row := range rows {
		most = max(most, row.Rate)
	}
	for i := range rows {
		if most > 0 {
			rows[i].Share = rows[i].Rate / most
		}
		rows[i].Over = r.Over(rows[i].Rate)
	}
	return rows
}

// rateRow is a rate with its bar.
type rateRow struct {
	Name, Note  string
	Rate, Share float64
	Known, Over bool
}

// Outlook is what becomes of the filter, in a sentence.
func (r filterRow) Outlook() string {
	p, _ := r["projection"].(object)
	full, err := time.Parse(time.RFC3339, p.text("full_at"))
	items, capacity := r.whole("items"), r.whole("capacity")
	switch {
	case r["grows"] == true:
		return "It takes any number of items: it " + lasting(r.text("kind")) + "."
	case capacity > 0 && items > capacity:
		return "It holds more items than it was made for."
	case capacity > 0 && items == capacity:
		return "It holds as many items as it was made for."
	case p["items_per_second"] == nil:
		return "No forecast: items come at no steady pace, or it has been watched for less than 10 minutes."
	case p.number("items_per_second") == 0:
		return "No items came in the last 10 minutes."
	case err != nil:
		return "At its present pace it does not get full."
	}
	return "At " + digits3(p.number("items_per_second")) + " items a second it is full on " + full.Format("Monday, 2 January 2006, 15:04") + " UTC."
}

// lasting says why a filter of a kind takes any number of items.
func lasting(kind string) string {
	switch kind {
	case "window":
		return "forgets them by age"
	case "stable":
		return "forgets the oldest"
	}
	return "grows"
}

// densityPicture is that of an array, or of those of one layer in all parts.
type densityPicture struct {
	Name, Text string
	Cells      []cell
	Rows       int // height in cells
}

// Densities are the density pictures: each layer is filled differently, and has its own.
func (r filterRow) Densities() (list []densityPicture) {
	d, _ := r["density"].(object)
	arrays, shares := numbersOf(d["arrays"]), map[float64][]float64{}
	for i, share := range numbersOf(d["cells"]) {
		array := 0.0
		if i < len(arrays) {
			array = arrays[i]
		}
		shares[array] = append(shares[array], share)
	}
	for _, array := range slices.Sorted(maps.Keys(shares)) {
		cells := shares[array]
		list = append(list, densityPicture{
			r.arrayWord() + " " + strconv.Itoa(int(array)+1), densityText(d.text("unit"), cells), densityCells(cells), (len(cells) + densityColumns - 1) / densityColumns,
		})
	}
	return list
}

// arrayWord is what an array of the filter is. Generations and members are listed in another order than
// their arrays.
func (r filterRow) arrayWord() string {
	switch r.text("kind") {
	case "window", "quorum":
		return "Array"
	}
	return "Layer"
}

// densityText describes a density picture.
func densityText(unit string, shares []float64) string {
	word := "set"
	if unit != "bits" {
		word = "in use"
	}
	return "Between " + percent(slices.Min(shares)) + " and " + percent(slices.Max(shares)) + " of the " + unit + " of each piece are " + word + "."
}

// LayerTitle is the headline of the layers.
func (r filterRow) LayerTitle() string {
	switch r.text("kind") {
	case "window":
		return "Generations, the present one first"
	case "quorum":
		return "Members"
	}
	return "Layers, the oldest first"
}

// Cure is the cure of the verdict that the API has, "" if a person must do it.
func (r filterRow) Cure() string {
	for _, cure := range []string{"GROW", "FOLD"} {
		if strings.HasPrefix(r.text("command"), "FILTER."+cure+" ") {
			return strings.ToLower(cure)
		}
	}
	return ""
}

// kindRows returns what each kind can do, as FILTER.KINDS describes it, for the forms of
// the page: nothing where it has none, or a user may not ask.
func (c *call) kindRows() (rows []object, err error) {
	if !c.h.Admin {
		return nil, nil
	}
	reply, err := c.do("FILTER.KINDS")
	if p, ok := errors.AsType[problem](err); ok && p.status == http.StatusForbidden {
		return nil, nil
	}
	if err == nil {
		for i := range reply.Elems {
			rows = append(rows, objectOf(&reply.Elems[i]))
		}
	}
	return append(rows, object{"kind": "bf", "add": true}, object{"kind": "cf", "add": true, "delete": true}), err
}

// setAbilities finds out which forms the page of the filter has: to add and to delete.
func (c *call) setAbilities(r filterRow) error {
	rows, err := c.kindRows()
	for _, k := range rows {
		if strings.EqualFold(k.text("kind"), r.text("kind")) {
			r["adds"], r["deletes"] = k["add"], k["delete"]
		}
	}
	return err
}
