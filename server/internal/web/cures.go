package web

// Requests that do what a verdict advises.

import (
	"net/http"
)

var cureRoutes = []route{
	{"POST", "/api/v1/filters/{name}/grow", (*call).grow, writes, "Turns a filter of kind bloom into a scalable one."},
	{"POST", "/api/v1/filters/{name}/fold", (*call).fold, writes, "Halves a filter that holds few items, or as often as its size and rate allow."},
	{"POST", "/api/v1/filters/{name}/clear", simpleCure("FILTER.CLEAR"), writes, "Removes all items from a filter."},
	{"POST", "/api/v1/filters/{name}/compact", simpleCure("CF.COMPACT"), writes, "Moves the items of a CF into as few sub-filters as hold them."},
	{"POST", "/api/v1/filters/{name}/rebuild", (*call).rebuild, writes, "Builds a new filter beside one that stays in use: a step at a time."},
}

// simpleCure returns what runs a command on a filter that takes nothing else.
func simpleCure(word string) func(*call) error {
	return func(c *call) error {
		name, err := c.filterName()
		if err != nil {
			return err
		}
		if err := c.read(&struct{}{}); err != nil {
			return err
		}
		return c.cure(word, name)
	}
}

// cure runs a command and answers that it was done.
func (c *call) cure(args ...string) error {
	if _, err := c.do(args...); err != nil {
		return err
	}
	return c.json(http.StatusOK, object{"done": true})
}

func (c *call) grow() error {
	name, err := c.filterName()
	if err != nil {
		return err
	}
	var v struct {
		ErrorRate typed `json:"error_rate"`
	}
	if err := c.read(&v); err != nil {
		return err
	}
	return c.cure(v.ErrorRate.after("ERROR", []string{"FILTER.GROW", name})...)
}

func (c *call) fold() error {
	name, err := c.filterName()
	if err != nil {
		return err
	}
	var v struct {
		Fit bool `json:"fit"`
	}
	if err := c.read(&v); err != nil {
		return err
	}
	args := []string{"FILTER.FOLD", name}
	if v.Fit {
		args = append(args, "FIT")
	}
	return c.cure(args...)
}

// rebuilding is what POST /filters/{name}/rebuild takes: a step of FILTER.REBUILD and
// what that needs.
type rebuilding struct {
	Step      string    `json:"step"`
	Kind      string    `json:"kind"`       // begin
	Capacity  typed     `json:"capacity"`   // begin
	ErrorRate typed     `json:"error_rate"` // begin
	Parts     typed     `json:"parts"`      // begin
	NewKey    string    `json:"new_key"`    // begin
	Items     []bytesOf `json:"items"`      // feed
	Force     bool      `json:"force"`      // commit
}

func (c *call) rebuild() error {
	name, err := c.filterName()
	if err != nil {
		return err
	}
	var v rebuilding
	if err := c.read(&v); err != nil {
		return err
	}
	switch v.Step {
	case "begin":
		return c.cure(append([]string{"FILTER.REBUILD", name, "BEGIN"}, v.begin()...)...)
	case "feed":
		return c.feed(name, v.Items)
	case "commit":
		if v.Force {
			return c.cure("FILTER.REBUILD", name, "COMMIT", "FORCE")
		}
		return c.cure("FILTER.REBUILD", name, "COMMIT")
	case "abort":
		return c.cure("FILTER.REBUILD", name, "ABORT")
	case "status":
		reply, err := c.do("FILTER.REBUILD", name, "STATUS")
		if err != nil {
			return err
		}
		return c.json(http.StatusOK, object{"done": true, "status": objectOf(reply)})
	}
	return invalid("step is begin, feed, commit, abort or status")
}

// begin returns the options of BEGIN.
func (v *rebuilding) begin() (args []string) {
	if v.Kind != "" {
		args = append(args, v.Kind)
	}
	args = v.Parts.after("PARTS", v.ErrorRate.after("ERROR", v.Capacity.after("CAPACITY", args)))
	if v.NewKey != "" {
		args = append(args, "NEWKEY", v.NewKey)
	}
	return args
}

func (c *call) feed(name string, items []bytesOf) error {
	if len(items) == 0 {
		return invalid("items: the step feed needs some")
	}
	feed := itemCommand{word: "FILTER.REBUILD", before: []string{"FEED"}}
	replies, err := c.doAll(feed.calls(name, items))
	if err != nil {
		return err
	}
	if replies[0].Failed() {
		return problemOf(replies[0].Text)
	}
	return c.json(http.StatusOK, object{"done": true, "fed": replies[0].N})
}
