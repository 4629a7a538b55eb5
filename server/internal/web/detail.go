package web

// One filter in full.

import (
	"net/http"
	"time"
)

// cells is into how many pieces the array of a filter is cut for its picture.
const cells = "256"

func (c *call) detail() error {
	name, err := c.filterName()
	if err != nil {
		return err
	}
	o, err := c.describeAll(name)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, o)
}

// kindLayers is the kind of layers over filters.
const kindLayers = "layers"

// describeAll describes a filter or a sketch: what FILTER.INFO shows and, of a filter,
// its layers, who follows it, where its history leads, and how full the pieces of its array are; of
// layers over filters, what each has stopped.
func (c *call) describeAll(name string) (object, error) {
	o, err := c.describe(name)
	if err != nil {
		return nil, err
	}
	putName(o, name)
	over := o["kind"] == kindLayers
	if o["verdict"] == nil && !over {
		return o, nil // a sketch
	}
	layers, err := c.do("FILTER.LAYERS", name)
	if err != nil {
		return nil, err
	}
	if over {
		rows := make([]object, len(layers.Elems))
		for i := range layers.Elems {
			rows[i] = rowOf(&layers.Elems[i])
		}
		o["over"] = rows
		return o, nil
	}
	density, err := c.do("FILTER.DENSITY", name, cells)
	if err != nil {
		return nil, err
	}
	followers, err := c.do("FILTER.FOLLOWERS", name)
	if err != nil {
		return nil, err
	}
	if len(followers.Elems) > 0 {
		o["followers"] = valueOf(followers)
	}
	o["layers"], o["density"], o["projection"] = valueOf(layers), objectOf(density), project(o, c.h.Now())
	if len(name) > longName {
		o["command"] = "" // it has the name in it
	}
	return o, nil
}

// project takes from what is known of a filter at which pace its items come, and returns it with when the
// filter will hold as many as it was made for: null where that is not known, or will not be.
func project(o object, now time.Time) object {
	p := object{"items_per_second": nil, "full_at": nil}
	pace, known := o["items_per_second"].(float64)
	items, ok := o["items"].(float64)
	delete(o, "items_per_second")
	if !known || !ok {
		return p
	}
	p["items_per_second"] = pace
	capacity, _ := o["capacity"].(float64)
	if left := capacity - items; capacity > 0 && pace > 0 && o["grows"] != true {
		const farthest = 100 * 365 * 24 * time.Hour
		if seconds := max(0, left) / pace; seconds < farthest.Seconds() {
			p["full_at"] = now.Add(time.Duration(seconds * float64(time.Second))).UTC().Format(time.RFC3339)
		}
	}
	return p
}
