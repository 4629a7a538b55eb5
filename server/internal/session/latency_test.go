package session

import (
	"slices"
	"testing"
	"time"
)

// TestLatencyKeepsSamples asks for one sample of a second, the longest, and for the
// latest 160 of them.
func TestLatencyKeepsSamples(t *testing.T) {
	var l Latency
	if l.Over(time.Hour) {
		t.Error("what is off keeps something")
	}
	if l.SetThreshold(5); l.Over(5*time.Millisecond-1) || !l.Over(5*time.Millisecond) || l.Threshold() != 5 {
		t.Error("from 5 ms on, and 5 ms are not kept, or less is")
	}
	at := time.Unix(1000, 0)
	for i, took := range []time.Duration{7, 9, 8} {
		l.Add("a", at.Add(time.Duration(i)*time.Millisecond), took*time.Millisecond)
	}
	l.Add("b", at, time.Second)
	for i := range 3 {
		l.Add("b", at.Add(time.Duration(i+1)*time.Second), time.Duration(i)*time.Millisecond)
	}
	all := l.Events()
	if len(all) != 2 || all[0].Name != "a" || !slices.Equal(all[0].Samples, []LatencySample{{1000, 9}}) || all[0].Most != 9 {
		t.Errorf("events %+v", all)
	}
	if !slices.Equal(all[1].Samples, []LatencySample{{1000, 1000}, {1001, 0}, {1002, 1}, {1003, 2}}) || all[1].Most != 1000 {
		t.Errorf("event b: %+v", all[1])
	}
	for i := range latencySamples - 3 {
		l.Add("b", at.Add(time.Duration(i+10)*time.Second), 3*time.Millisecond)
	}
	b := l.Events()[1]
	if len(b.Samples) != latencySamples || b.Samples[0] != (LatencySample{1001, 0}) || b.Most != 1000 {
		t.Errorf("%d samples are kept, the first is %v, the most %d", len(b.Samples), b.Samples[0], b.Most)
	}
	if got := l.Reset("b", "none"); got != 1 || len(l.Events()) != 1 {
		t.Errorf("%d events are forgotten, %d left", got, len(l.Events()))
	}
	if got := l.Reset(); got != 1 || len(l.Events()) != 0 {
		t.Errorf("%d events are forgotten, %d left", got, len(l.Events()))
	}
}
