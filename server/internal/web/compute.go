package web

// What the calculator and the lessons of the page ask for.

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/bloomery/bloomery/page"
)

// questionRoutes returns the routes of the calculator and of the lessons. They need no
// data, so anybody may use them who may see the page.
func questionRoutes() (all []route) {
	for _, q := range page.Questions() {
		all = append(all, route{"GET", "/api/v1/" + q.Path, func(c *call) error { return c.compute(q) }, static, q.Doc})
	}
	return all
}

const (
	// longQuery is the longest query of a URL that is read.
	longQuery = 16 << 10
	// mostComputing is how many requests compute at a time. Anybody may ask them, so they
	// must leave processors to the data.
	mostComputing = 2
)

// compute answers a question, when it is its turn, or says what is wrong with each field.
func (c *call) compute(q page.Question) error {
	if len(c.r.URL.RawQuery) > longQuery {
		return problem{http.StatusRequestURITooLong, "too_long", "the query of the URL is longer than 16 KiB"}
	}
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return invalid("the query of the URL: %v", err)
	}
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case c.h.turns <- struct{}{}:
		defer func() { <-c.h.turns }()
	case <-timer.C:
		return problem{http.StatusServiceUnavailable, "busy", "too many requests run at the moment"}
	case <-c.r.Context().Done():
		return problem{http.StatusServiceUnavailable, "busy", "the request has ended"}
	}
	v, err := q.Answer(query)
	if faults, ok := errors.AsType[page.QueryError](err); ok {
		return c.json(http.StatusBadRequest, object{"error": object{"code": "invalid", "message": faults.Error(), "fields": faults}})
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, v)
}
