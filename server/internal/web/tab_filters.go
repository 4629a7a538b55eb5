package web

// The table of filters.

import (
	"cmp"
	"encoding/base64"
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

// filterRow is a filter or sketch as FILTER.LIST and FILTER.INFO describe it.
type filterRow object

func (r filterRow) whole(name string) int64    { return object(r).whole(name) }
func (r filterRow) number(name string) float64 { return object(r).number(name) }
func (r filterRow) text(name string) string    { return object(r).text(name) }

// kindWords are kinds that are not named as people name them.
var kindWords = map[string]string{"cms": "count-min", "topk": "top-k", "tdigest": "t-digest", "bf": "BF", "cf": "CF"}

// Shown returns the name as a person can read it.
func (r filterRow) Shown() string {
	if name, err := base64.StdEncoding.DecodeString(r.text("name_base64")); err == nil && len(name) > 0 {
		return shown(string(name))
	}
	return shown(r.text("name"))
}

// KindName returns the kind in words.
func (r filterRow) KindName() string {
	kind := r.text("kind")
	return cmp.Or(kindWords[kind], kind)
}

// Sketch reports whether the row is a sketch: it has no false positive rate.
func (r filterRow) Sketch() bool { return r.text("verdict") == "" }

// Ill reports whether the filter needs something.
func (r filterRow) Ill() bool { return !r.Sketch() && r.text("verdict") != "OK" }

// Figures returns what there is to know of a sketch in one line.
func (r filterRow) Figures() string {
	switch {
	case r["error"] != nil:
		return r.text("error")
	case r["error_bound"] != nil && r["error_probability"] != nil:
		sure := percent(1 - r.number("error_probability"))
		if r.whole("count") == 0 {
			return fmt.Sprintf("nothing counted yet; a count will be too high by at most %s of all counts together, with probability %s", percent(r.number("error_bound")), sure)
		}
		most := int64(r.number("error_bound") * r.number("count")) // which is whole, as counts are
		return fmt.Sprintf("a count is at most %s too high, with probability %s", grouped(most), sure)
	case r["k"] != nil && r["decay"] != nil:
		return fmt.Sprintf("the top %s, decay %s", grouped(r.whole("k")), digits3(r.number("decay")))
	case r["compression"] != nil:
		return fmt.Sprintf("compression %s, %s of %s nodes",
			grouped(r.whole("compression")), grouped(r.whole("merged_nodes")+r.whole("unmerged_nodes")), grouped(r.whole("capacity_nodes")))
	case r["stopped"] != nil:
		return fmt.Sprintf("over %s filters, %s of %s items stopped", grouped(r.whole("layers")), grouped(r.whole("stopped")), grouped(r.whole("queries")))
	}
	return ""
}

// Fill is the share of the capacity that is used.
func (r filterRow) Fill() float64 {
	if r.whole("capacity") <= 0 {
		return 0
	}
	return r.number("items") / r.number("capacity")
}

// Urgency is the class of the bar: over 90% is a warning, over all is bad.
func (r filterRow) Urgency() string {
	switch fill := r.Fill(); {
	case fill > 1:
		return "bad"
	case fill > 0.9:
		return "warn"
	}
	return ""
}

// Over reports whether a rate is over the one asked for.
func (r filterRow) Over(rate any) bool {
	return r.number("asked") > 0 && numberOf(rate) > r.number("asked")
}

// Measured reports whether there were enough probes.
func (r filterRow) Measured() bool { return r["probed"] != nil && r["probed_state"] == "measured" }

// Counted reports whether there was enough traffic.
func (r filterRow) Counted() bool { return r["traffic"] != nil && r["traffic_state"] == "measured" }

// Link is the address of the filter, relative to that of the page.
func (r filterRow) Link() string { return "filters?name=" + url.QueryEscape(r.text("ref")) }

// listFilters returns the rows of a view of the API.
func (c *call) listFilters(v view) (*filterList, error) {
	total, objects, err := c.look(v)
	if err != nil {
		return nil, err
	}
	list := &filterList{now: c.h.Now(), Total: total, Filters: make([]filterRow, len(objects))}
	for i, o := range objects {
		list.Filters[i] = filterRow(o)
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
			if k["static"] != true && k["kind"] != "bf" && k["kind"] != "cf" {
				list.Kinds = append(list.Kinds, k.text("kind"))
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
