package main

import (
	"context"
	"runtime"
	"time"

	"github.com/bloomery/bloomery/bench/internal/report"
	"github.com/bloomery/bloomery/bench/internal/results"
	"github.com/bloomery/bloomery/internal/measuring"
)

// record is one line of the results file: a row that was measured, or what
// came of bad input.
type record struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
	Date   string `json:"date"`
	Go     string `json:"go"`

	// Of a row.
	Seed       uint64          `json:"seed,omitempty"`
	Rate       *measuring.Rate `json:"rate,omitempty"`
	BitsPerKey float64         `json:"bits_per_key,omitempty"`
	Failure    string          `json:"failure,omitempty"` // a panic or an error where a filter was due

	// Of bad input.
	Outcome *outcome `json:"outcome,omitempty"`
}

// queries returns how many absent keys were asked for.
func (r record) queries() uint64 {
	if r.Rate == nil {
		return 0
	}
	return r.Rate.Queries
}

// enough reports whether the record stands for so many queries. Each filter
// may have rounded its part down.
func (r record) enough(queries uint64) bool {
	return r.Failure != "" || r.Rate != nil && r.queries()+uint64(r.Rate.Filters) >= queries
}

// records are all that is known. What is added gets the commit and the date of
// this run.
type records struct {
	*results.File[record]
	stamp record
}

// open reads the records of earlier runs.
func open(ctx context.Context, file string) (records, error) {
	f, err := results.Open(file, func(r record) string { return r.Name })
	return records{f, record{
		Commit: report.Commit(ctx), Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(),
	}}, err
}

// add keeps a new record.
func (r records) add(one record) error {
	one.Commit, one.Date, one.Go = r.stamp.Commit, r.stamp.Date, r.stamp.Go
	return r.Add(one)
}
