package web

// The table of filters.

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// filterList is what the table of filters is rendered from.
type filterList struct {
	Total   int64
	Filters []filterRow

	tableQuery
	// Kinds are those that FILTER.CREATE makes.
	Kinds []string
	// Wrong is what is wrong with the query of the address, by field.
	Wrong map[string]string
	now   time.Time
}

// Age is how many seconds ago a Unix time was.
func (l *filterList) Age(created int64) int64 { return max(l.now.Unix()-created, 0) }

// tableQuery is what the address of the table asks for.
type tableQuery struct {
	Search    string
	Sort      string
	Desc      bool
	Page, Per int
}

// mostSearch is how long a search may be.
const mostSearch = 200

// column is one of the table.
type column struct {
	Name, Title string
	Right       bool // figures
	Desc        bool // the first order is downwards
}

// columns are those of the table, in their order. The names are those of SORT.
var columns = []column{
	{"name", "Name", false, false},
	{"kind", "Kind", false, false},
	{"fill", "Items of capacity", false, true},
	{"saturation", "Saturation", true, true},
	{"asked", "Asked", true, false},
	{"predicted", "Predicted", true, true},
	{"probed", "Probed", true, true},
	{"traffic", "Traffic", true, true},
	{"bytes", "Memory", true, true},
	{"created", "Age", true, true},
	{"verdict", "Verdict", false, false},
}

// Columns returns the columns of the table.
func (*filterList) Columns() []column { return columns }

// filterRow is a filter or sketch as FILTER.LIST and FILTER.INFO describe it. What it
// does not have is nil.
type filterRow struct {
	Name         string   `json:"name"`
	NameBytes    []byte   `json:"name_base64"` // of a name that is not valid UTF-8
	Ref          string   `json:"ref"`         // as a path has it, "" if it is too long for one
	Kind         string   `json:"kind"`
	Capacity     int64    `json:"capacity"`
	Items        int64    `json:"items"`
	Exact        bool     `json:"items_exact"`
	Bits         int64    `json:"bits"`
	Bytes        int64    `json:"bytes"`
	Parts        int64    `json:"parts"`
	Asked        float64  `json:"asked"`
	Predicted    float64  `json:"predicted"`
	Sigma        float64  `json:"predicted_sigma"`
	Saturation   float64  `json:"saturation"`
	Skew         float64  `json:"skew"`
	Created      *int64   `json:"created"`
	Probed       *float64 `json:"probed"`
	ProbedLow    float64  `json:"probed_low"`
	ProbedHigh   float64  `json:"probed_high"`
	ProbedState  string   `json:"probed_state"`
	Traffic      *float64 `json:"traffic"`
	TrafficLow   float64  `json:"traffic_low"`
	TrafficHigh  float64  `json:"traffic_high"`
	TrafficState string   `json:"traffic_state"`
	Verdict      string   `json:"verdict"`
	Reason       string   `json:"reason"`
	Command      string   `json:"command"`

	sketchFigures
}

// sketchFigures are what only sketches have.
type sketchFigures struct {
	Width       *int64   `json:"width"`
	Depth       *int64   `json:"depth"`
	Count       *int64   `json:"count"`
	ErrorBound  *float64 `json:"error_bound"`
	ErrorChance *float64 `json:"error_probability"`
	K           *int64   `json:"k"`
	Decay       *float64 `json:"decay"`
	Least       *int64   `json:"least_count"`
	Compression *int64   `json:"compression"`
	MaxNodes    *int64   `json:"capacity_nodes"`
	Merged      *int64   `json:"merged_nodes"`
	Unmerged    *int64   `json:"unmerged_nodes"`
	Compressed  *int64   `json:"compressions"`
}

// kindWords are kinds that are not named as people name them.
var kindWords = map[string]string{"cms": "count-min", "topk": "top-k", "tdigest": "t-digest", "bf": "BF", "cf": "CF"}

// Shown returns the name as a person can read it.
func (r *filterRow) Shown() string {
	if len(r.NameBytes) > 0 {
		return shown(string(r.NameBytes))
	}
	return shown(r.Name)
}

// KindName returns the kind in words.
func (r *filterRow) KindName() string {
	if name, ok := kindWords[r.Kind]; ok {
		return name
	}
	return r.Kind
}

// Sketch reports whether the row is a sketch: it has no false positive rate.
func (r *filterRow) Sketch() bool { return r.Verdict == "" }

// Ill reports whether the filter needs something.
func (r *filterRow) Ill() bool { return !r.Sketch() && r.Verdict != "OK" }

// Figures returns what there is to know of a sketch in one line.
func (r *filterRow) Figures() string {
	switch {
	case r.ErrorBound != nil && r.ErrorChance != nil:
		return fmt.Sprintf("counts up to %s of %s too high, with probability %s", percent(*r.ErrorBound), grouped(value(r.Count)), percent(1-*r.ErrorChance))
	case r.K != nil && r.Decay != nil:
		return fmt.Sprintf("the top %s, decay %s", grouped(*r.K), digits3(*r.Decay))
	case r.Compression != nil:
		return fmt.Sprintf("compression %s, %s of %s nodes", grouped(*r.Compression), grouped(value(r.Merged)+value(r.Unmerged)), grouped(value(r.MaxNodes)))
	}
	return ""
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// Fill is the share of the capacity that is used.
func (r *filterRow) Fill() float64 {
	if r.Capacity <= 0 {
		return 0
	}
	return float64(r.Items) / float64(r.Capacity)
}

// Urgency is the class of the bar: over 90% is a warning, over all is bad.
func (r *filterRow) Urgency() string {
	switch fill := r.Fill(); {
	case fill > 1:
		return "bad"
	case fill > 0.9:
		return "warn"
	}
	return ""
}

// Over reports whether a rate is over the one asked for.
func (r *filterRow) Over(rate float64) bool { return r.Asked > 0 && rate > r.Asked }

// Measured reports whether there were enough probes.
func (r *filterRow) Measured() bool { return r.Probed != nil && r.ProbedState == "measured" }

// Counted reports whether there was enough traffic.
func (r *filterRow) Counted() bool { return r.Traffic != nil && r.TrafficState == "measured" }

// Link is the address of the filter, relative to that of the page.
func (r *filterRow) Link() string { return "filters?name=" + url.QueryEscape(r.Ref) }

// listFilters returns the rows of a view of the API.
func (c *call) listFilters(v view) (*filterList, error) {
	total, objects, err := c.look(v)
	if err != nil {
		return nil, err
	}
	list := &filterList{now: c.h.Now(), Total: total, Filters: make([]filterRow, len(objects))}
	for i, o := range objects {
		if err := into(o, &list.Filters[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *call) filtersTab() error {
	values := c.r.URL.Query()
	if values.Has("name") {
		return c.filterTab(values.Get("name"))
	}
	return c.showTab(frame{Tab: "filters", Title: "Filters"}, func(f *frame) error {
		q, wrong := parseTable(values)
		list, err := c.listPage(&q)
		if err != nil {
			return err
		}
		list.tableQuery, list.Wrong = q, wrong
		f.List = list
		kinds, err := c.kindRows()
		for _, k := range kinds {
			if !k.Static && k.Kind != "bf" && k.Kind != "cf" {
				list.Kinds = append(list.Kinds, k.Kind)
			}
		}
		return err
	})
}

// listPage returns the page of a query. One behind the end is the last.
func (c *call) listPage(q *tableQuery) (*filterList, error) {
	for {
		list, err := c.listFilters(view{pattern: q.pattern(), sort: q.Sort, descending: q.Desc, offset: (q.Page - 1) * q.Per, limit: q.Per})
		if err != nil {
			return nil, err
		}
		last := max(int((list.Total+int64(q.Per)-1)/int64(q.Per)), 1)
		if q.Page <= last {
			return list, nil
		}
		q.Page = last
	}
}

// parseTable reads the query of an address. What is wrong gets its usual value and a
// message.
func parseTable(v url.Values) (tableQuery, map[string]string) {
	f := fieldsOf(v)
	q := tableQuery{
		Search: f.text("q", "", mostSearch), Sort: f.text("sort", "name", mostSearch), Desc: f.descending("dir"),
		Per: f.whole("per", usualPage, 1, mostPage), Page: f.whole("page", 1, 1, 1<<30),
	}
	if !slices.ContainsFunc(columns, func(c column) bool { return c.Name == q.Sort }) {
		q.Sort, f.wrong["sort"] = "name", "There is no such column: sorted by name."
	}
	return q, f.wrong
}

// pattern returns the pattern of the names that are looked for. A search with a star
// is a pattern itself.
func (q *tableQuery) pattern() string {
	switch {
	case q.Search == "":
		return "*"
	case strings.Contains(q.Search, "*"):
		return q.Search
	}
	return substring(q.Search)
}

// link returns the address of the table with another query.
func (q tableQuery) link() string {
	v := url.Values{}
	set := func(name, value, usual string) {
		if value != usual {
			v.Set(name, value)
		}
	}
	set("q", q.Search, "")
	set("sort", q.Sort, "name")
	if q.Desc {
		v.Set("dir", "desc")
	}
	set("per", strconv.Itoa(q.Per), strconv.Itoa(usualPage))
	set("page", strconv.Itoa(q.Page), "1")
	if len(v) == 0 {
		return "filters"
	}
	return "filters?" + v.Encode()
}

// SortLink is the address of the table sorted by a column; that which it is sorted by
// already turns round.
func (l *filterList) SortLink(c column) string {
	q := l.tableQuery
	q.Page = 1
	if q.Sort == c.Name {
		q.Desc = !q.Desc
	} else {
		q.Sort, q.Desc = c.Name, c.Desc
	}
	return q.link()
}

// SortState is the value of aria-sort, "" for a column that the table is not sorted by.
// What was made last is the youngest.
func (l *filterList) SortState(c column) string {
	switch {
	case l.Sort != c.Name:
		return ""
	case l.Desc != (c.Name == "created"):
		return "descending"
	}
	return "ascending"
}

// PageLink is the address of another page.
func (l *filterList) PageLink(by int) string {
	q := l.tableQuery
	q.Page += by
	return q.link()
}

// Pages is how many pages there are.
func (l *filterList) Pages() int { return max(int((l.Total+int64(l.Per)-1)/int64(l.Per)), 1) }

// First and Last are the numbers of the rows that are shown.
func (l *filterList) First() int64 { return int64(l.Page-1)*int64(l.Per) + 1 }

// Last is that of the last row.
func (l *filterList) Last() int64 { return l.First() + int64(len(l.Filters)) - 1 }

// PerChoices are the numbers of rows that the table offers.
func (*filterList) PerChoices() []int { return []int{25, 50, 100, 200} }
