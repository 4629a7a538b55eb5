package web

// Lists of filters.

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
)

var filterRoutes = []route{
	{"GET", "/api/v1/filters", (*call).list, reads, "Lists filters and sketches: searched, sorted, a page at a time."},
	{"POST", "/api/v1/filters", (*call).create, writes, "Creates a filter."},
	{"GET", "/api/v1/filters/{name}", (*call).detail, reads, "Describes a filter: size, rates, layers, history, health."},
	{"DELETE", "/api/v1/filters/{name}", (*call).remove, writes, "Deletes a filter."},
	{"GET", "/api/v1/filters/{name}/health", (*call).filterHealth, reads, "Returns the verdict of a filter, with its reason and the command that helps."},
	{"GET", "/api/v1/health", (*call).health, reads, "Lists filters with their verdicts, those that need care first."},
	{"GET", "/api/v1/kinds", (*call).kinds, reads, "Lists the kinds of filters."},
	{"GET", "/api/v1/plan", (*call).plan, reads, "Ranks the kinds for a number of keys and a false positive rate."},
}

// The bounds of a page of filters.
const (
	usualPage = 50
	mostPage  = 200
)

// view is which filters a client looks at, and in which order.
type view struct {
	pattern       string
	sort          string
	descending    bool
	offset, limit int
}

// readView reads a view from the query of a URL.
func readView(q url.Values, limit int) (view, error) {
	f := fieldsOf(q)
	v := view{
		pattern: f.text("match", "*", longName), sort: f.text("sort", "name", longName), descending: f.descending("order"),
		offset: f.whole("offset", 0, 0, 1<<31-1), limit: f.whole("limit", limit, 0, mostPage),
	}
	if search := f.text("search", "", longName); search != "" {
		if f.Get("match") != "" {
			return v, invalid("give match or search, not both")
		}
		v.pattern = substring(search)
	}
	return v, f.err()
}

// substring returns the pattern of names that have text in them, in letters of any
// case.
func substring(text string) string {
	var b strings.Builder
	b.WriteByte('*')
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z':
			b.Write([]byte{'[', c, c - 'a' + 'A', ']'})
		case c >= 'A' && c <= 'Z':
			b.Write([]byte{'[', c - 'A' + 'a', c, ']'})
		case strings.IndexByte(`*?[]\^-`, c) >= 0:
			b.Write([]byte{'\\', c})
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('*')
	return b.String()
}

// look returns the filters of a view, and how many match in all.
func (c *call) look(v view) (total int64, rows []object, err error) {
	args := []string{"FILTER.LIST", "MATCH", v.pattern, "SORT", v.sort, "OFFSET", strconv.Itoa(v.offset), "COUNT", strconv.Itoa(v.limit)}
	if v.descending {
		args = append(args, "DESC")
	}
	reply, err := c.do(args...)
	if err != nil {
		return 0, nil, err
	}
	list := at(reply, "filters")
	rows = make([]object, len(list.Elems))
	for i := range list.Elems {
		rows[i] = rowOf(&list.Elems[i])
	}
	return at(reply, "total").N, rows, nil
}

// rowOf returns a filter of a list, with its name as JSON has it.
func rowOf(r *answer.Reply) object {
	o := objectOf(r)
	delete(o, "key")
	name := at(r, "key").Text
	putName(o, name)
	if len(name) > longName && o["command"] != nil {
		o["command"] = "" // it has the name in it
	}
	return o
}

func (c *call) list() error {
	v, err := readView(c.r.URL.Query(), usualPage)
	if err != nil {
		return err
	}
	total, rows, err := c.look(v)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, object{"total": total, "offset": v.offset, "limit": v.limit, "filters": rows})
}

// health lists the filters that need care first.
func (c *call) health() error {
	v, err := readView(c.r.URL.Query(), usualPage)
	if err != nil {
		return err
	}
	v.sort, v.descending = "verdict", false
	total, rows, err := c.look(v)
	if err != nil {
		return err
	}
	info, err := c.info("health")
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, object{"total": total, "offset": v.offset, "limit": v.limit, "filters": rows, "totals": healthTotals(info)})
}

// creation is what POST /filters takes. The fields are the options of FILTER.CREATE.
type creation struct {
	Name        *bytesOf  `json:"name"`
	Kind        string    `json:"kind"`
	Capacity    typed     `json:"capacity"`
	ErrorRate   typed     `json:"error_rate"`
	BitsPerKey  typed     `json:"bits_per_key"`
	Headroom    typed     `json:"headroom"`
	Seed        typed     `json:"seed"`
	Random      bool      `json:"random"`
	Keyed       string    `json:"keyed"`
	Like        *bytesOf  `json:"like"`
	Parts       typed     `json:"parts"`
	Span        string    `json:"span"`
	Generations typed     `json:"generations"`
	Burst       typed     `json:"burst"`
	Members     typed     `json:"members"`
	Need        typed     `json:"need"`
	SLA         typed     `json:"sla"`
	Budget      typed     `json:"budget"`
	Over        []bytesOf `json:"over"`
}

// args returns the options as FILTER.CREATE takes them.
func (v *creation) args() (args []string) {
	for _, o := range []struct {
		word  string
		value typed
	}{
		{"CAPACITY", v.Capacity}, {"HEADROOM", v.Headroom}, {"SEED", v.Seed}, {"PARTS", v.Parts}, {"GENERATIONS", v.Generations},
		{"MEMBERS", v.Members}, {"NEED", v.Need}, {"SLA", v.SLA}, {"BUDGET", v.Budget}, {"ERROR", v.ErrorRate}, {"BITS", v.BitsPerKey},
		{"BURST", v.Burst}, {"KEYED", typed(v.Keyed)}, {"SPAN", typed(v.Span)},
	} {
		args = o.value.after(o.word, args)
	}
	if v.Like != nil {
		args = append(args, "LIKE", string(*v.Like))
	}
	if v.Random {
		args = append(args, "RANDOM")
	}
	if len(v.Over) > 0 { // the last option: names follow to the end
		args = append(args, "OVER")
		for _, name := range v.Over {
			args = append(args, string(name))
		}
	}
	return args
}

func (c *call) create() error {
	var v creation
	if err := c.read(&v); err != nil {
		return err
	}
	if v.Name == nil || v.Kind == "" {
		return invalid("name and kind are needed")
	}
	name := string(*v.Name)
	if len(name) > longName {
		return invalid("a name that is made over HTTP has at most %d bytes", longName)
	}
	if _, err := c.do(append([]string{"FILTER.CREATE", name, v.Kind}, v.args()...)...); err != nil {
		return err
	}
	o := object{}
	putName(o, name)
	c.w.Header().Set("Location", "filters/"+refOf(name)) // beside this path, whatever stands before it
	return c.json(http.StatusCreated, o)
}

func (c *call) remove() error {
	name, err := c.filterName()
	if err != nil {
		return err
	}
	if _, err := c.filterType(name); err != nil { // DEL takes strings too
		return err
	}
	reply, err := c.do("DEL", name)
	if err != nil {
		return err
	}
	if reply.N == 0 {
		return notFound
	}
	return c.json(http.StatusOK, object{"deleted": true})
}

var notFound = problemOf("ERR not found")

// describe returns what FILTER.INFO shows of a filter or a sketch.
func (c *call) describe(name string) (object, error) {
	reply, err := c.do("FILTER.INFO", name, "JSON")
	if err != nil {
		return nil, err
	}
	o := object{}
	if err := json.Unmarshal([]byte(reply.Text), &o); err != nil {
		return nil, err
	}
	return o, nil
}

func (c *call) filterHealth() error {
	name, err := c.filterName()
	if err != nil {
		return err
	}
	all, err := c.describe(name)
	if err != nil {
		return err
	}
	if all["verdict"] == nil { // a sketch
		return problemOf(answer.TextWrongType)
	}
	o := object{}
	for _, field := range []string{
		"kind", "items", "capacity", "saturation", "asked", "predicted", "predicted_sigma", "probed", "probed_low", "probed_high", "probed_state", "probes",
		"traffic", "traffic_low", "traffic_high", "traffic_state", "alarm", "verdict", "reason", "command",
	} {
		o[field] = all[field]
	}
	putName(o, name)
	return c.json(http.StatusOK, o)
}

func (c *call) kinds() error {
	reply, err := c.do("FILTER.KINDS")
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, object{"kinds": valueOf(reply)})
}

// plan is FILTER.PLAN.
func (c *call) plan() error {
	q := c.r.URL.Query()
	args := []string{"FILTER.PLAN", q.Get("keys"), q.Get("error_rate")}
	if args[1] == "" || args[2] == "" {
		return invalid("keys and error_rate are needed")
	}
	if needs := strings.FieldsFunc(q.Get("needs"), func(r rune) bool { return r == ',' || r == ' ' }); len(needs) > 0 {
		args = append(append(args, "NEEDS"), needs...)
	}
	reply, err := c.do(args...)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, objectOf(reply))
}
