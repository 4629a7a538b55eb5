//go:build !linux

package server_test

import (
	"testing"
	"time"
)

// halts measures nothing here.
type halts struct{}

func startHalts(*testing.T) halts { return halts{} }

func (halts) most(_, _ time.Time) time.Duration { return 0 }
