package web

// The routes of the calculator.

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/bloomery/bloomery/server/internal/web/calc"
	"github.com/bloomery/bloomery/server/internal/web/teach"
)

// calcRoutes are the calculator. It needs no data, so anybody may use it who may
// see the page.
var calcRoutes = []route{
	{"GET", "/api/v1/calc", (*call).calc, static, "Solves for the size, the false positive rate, the keys or the bits per key of a filter, with curves, all kinds and code to copy."},
}

func (c *call) calc() error {
	query, err := c.query()
	if err != nil {
		return err
	}
	return c.compute(func() (any, error) {
		a, faults := calc.Solve(query)
		if faults != nil {
			return nil, faults
		}
		return a, nil
	})
}

// longQuery is the longest query of a URL that is read.
const longQuery = 16 << 10

// query reads the query of the URL.
func (c *call) query() (url.Values, error) {
	if len(c.r.URL.RawQuery) > longQuery {
		return nil, problem{http.StatusRequestURITooLong, "too_long", "the query of the URL is longer than 16 KiB"}
	}
	q, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, invalid("the query of the URL: %v", err)
	}
	return q, nil
}

// mostComputing is how many requests compute at a time. Anybody may ask them, so they
// must leave processors to the data.
const mostComputing = 2

// compute runs what takes a few milliseconds of a processor, when it is its turn,
// and answers the result, or what is wrong with each field.
func (c *call) compute(f func() (any, error)) error {
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
	v, err := f()
	if fault, ok := errors.AsType[*teach.FieldError](err); ok {
		err = calc.QueryError{fault.Field: fault.Cause}
	}
	if faults, ok := errors.AsType[calc.QueryError](err); ok {
		return c.json(http.StatusBadRequest, object{"error": object{"code": "invalid", "message": faults.Error(), "fields": faults}})
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, v)
}
