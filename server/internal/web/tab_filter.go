package web

// The page of one filter.

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// filterView is what the page of one filter shows.
type filterView struct {
	filterRow
	Hash        string  `json:"hash"`
	KeyID       string  `json:"key"`
	Generations int64   `json:"generations"`
	Each        int64   `json:"generation_ms"`
	Members     int64   `json:"members"`
	Need        int64   `json:"need"`
	SLA         int64   `json:"sla"`
	Budget      int64   `json:"budget"`
	Rebuilding  bool    `json:"rebuilding"`
	Grows       bool    `json:"grows"`
	Alarm       bool    `json:"alarm"`
	Repaired    int64   `json:"repaired"`
	Probes      int64   `json:"probes"`
	False       int64   `json:"false_reported"`
	Negatives   int64   `json:"negatives"`
	Lookups     int64   `json:"lookups"`
	Saved       float64 `json:"saved"`
	AddCalls    int64   `json:"add_calls"`
	AddP50      float64 `json:"add_p50_us"`
	AddP99      float64 `json:"add_p99_us"`
	AddP999     float64 `json:"add_p999_us"`
	HasCalls    int64   `json:"has_calls"`
	HasP50      float64 `json:"has_p50_us"`
	HasP99      float64 `json:"has_p99_us"`
	HasP999     float64 `json:"has_p999_us"`
	Projection  struct {
		Pace *float64   `json:"items_per_second"`
		Full *time.Time `json:"full_at"`
	} `json:"projection"`
	Density struct {
		Unit  string    `json:"unit"`
		Cells []float64 `json:"cells"`
	} `json:"density"`
	Layers  []layerRow      `json:"layers"`
	History json.RawMessage `json:"history"`
	Seconds *int64          `json:"age"`

	// Adds and Deletes report whether items can be added and deleted.
	Adds, Deletes bool `json:"-"`
	now           time.Time
}

// layerRow is a layer, generation, member or sub-filter.
type layerRow struct {
	Capacity   int64   `json:"capacity"`
	Items      int64   `json:"items"`
	Exact      bool    `json:"items_exact"`
	Bytes      int64   `json:"bytes"`
	Predicted  float64 `json:"predicted"`
	Saturation float64 `json:"saturation"`
}

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
		v := &filterView{now: c.h.Now()}
		o, err := c.describeAll(name)
		if err != nil {
			return err
		}
		if err := into(o, v); err != nil {
			return err
		}
		v.Name, v.NameBytes, v.Ref = name, nil, refOf(name)
		f.Title, f.Filter = shown(name), v
		return c.setAbilities(v)
	})
}

// Path is the path of the filter in the API, relative to that.
func (v *filterView) Path() string { return "filters/" + v.Ref }

// Rows returns the rates with their bars, as shares of the largest.
func (v *filterView) Rows() []rateRow {
	rows := []rateRow{
		{Name: "Asked", Rate: v.Asked, Known: true, Note: "at its capacity"},
		{Name: "Predicted", Rate: v.Predicted, Known: true, Note: "by the model, for the bits that are set now"},
		{Name: "Probed", Note: v.ProbedState},
		{Name: "Traffic", Note: v.TrafficState},
	}
	if v.Probed != nil && v.Probes > 0 {
		rows[2] = rateRow{Name: "Probed", Rate: *v.Probed, Known: true, Note: "95% between " + percent(v.ProbedLow) + " and " + percent(v.ProbedHigh) + ", " + grouped(v.Probes) + " probes"}
		if v.ProbedState != "measured" {
			rows[2].Note += "; " + v.ProbedState
		}
	}
	if v.Counted() {
		rows[3] = rateRow{Name: "Traffic", Rate: *v.Traffic, Known: true, Note: grouped(v.False) + " reported false, " + grouped(v.Negatives) + " negative"}
	}
	most := v.Asked
	for _, r := range rows {
		most = max(most, r.Rate)
	}
	for i := range rows {
		if most > 0 {
			rows[i].Share = rows[i].Rate / most
		}
		rows[i].Over = v.Over(rows[i].Rate)
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
func (v *filterView) Outlook() string {
	p := v.Projection
	switch {
	case v.Grows:
		return "It takes any number of items: it grows, or forgets the oldest."
	case v.Capacity > 0 && v.Items > v.Capacity:
		return "It holds more items than it was made for."
	case v.Capacity > 0 && v.Items == v.Capacity:
		return "It holds as many items as it was made for."
	case p.Pace == nil:
		return "Its pace is known after 10 minutes."
	case p.Full == nil:
		return "At its present pace it does not get full."
	}
	return "At " + digits3(*p.Pace) + " items a second it is full on " + p.Full.Format("Monday, 2 January 2006, 15:04") + " UTC."
}

// DensityRows is the height of the density picture in cells.
func (v *filterView) DensityRows() int {
	return (len(v.Density.Cells) + densityColumns - 1) / densityColumns
}

// DensityText describes the density picture.
func (v *filterView) DensityText() string {
	if len(v.Density.Cells) == 0 {
		return ""
	}
	low, high := v.Density.Cells[0], v.Density.Cells[0]
	for _, s := range v.Density.Cells {
		low, high = min(low, s), max(high, s)
	}
	word := "set"
	if v.Density.Unit != "bits" {
		word = "in use"
	}
	return "Between " + percent(low) + " and " + percent(high) + " of the " + v.Density.Unit + " of each piece are " + word + "."
}

// LayerTitle is the headline of the layers.
func (v *filterView) LayerTitle() string {
	switch v.Kind {
	case "window":
		return "Generations, the present one first"
	case "quorum":
		return "Members"
	}
	return "Layers, the oldest first"
}

// kindRow is what a kind can do, as FILTER.KINDS describes it.
type kindRow struct {
	Kind   string `json:"kind"`
	Add    bool   `json:"add"`
	Delete bool   `json:"delete"`
	Static bool   `json:"static"`
}

// kindRows returns what each kind can do, for the forms of the page: nothing where it
// has none, or a user may not ask.
func (c *call) kindRows() (rows []kindRow, err error) {
	if !c.h.Admin {
		return nil, nil
	}
	reply, err := c.do("FILTER.KINDS")
	if p, ok := errors.AsType[problem](err); ok && p.status == http.StatusForbidden {
		return nil, nil
	}
	if err == nil {
		err = into(valueOf(reply), &rows)
	}
	return append(rows, kindRow{Kind: "bf", Add: true}, kindRow{Kind: "cf", Add: true, Delete: true}), err
}

// setAbilities finds out which forms the page of the filter has.
func (c *call) setAbilities(v *filterView) error {
	rows, err := c.kindRows()
	for _, k := range rows {
		if strings.EqualFold(k.Kind, v.Kind) {
			v.Adds, v.Deletes = k.Add, k.Delete
		}
	}
	return err
}

// Cure is the cure of the verdict that the API has, "" if a person must do it.
func (v *filterView) Cure() string {
	for _, cure := range []string{"GROW", "FOLD"} {
		if strings.HasPrefix(v.Command, "FILTER."+cure+" ") {
			return strings.ToLower(cure)
		}
	}
	return ""
}
