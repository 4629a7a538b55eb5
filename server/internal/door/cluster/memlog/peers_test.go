package memlog

// Beats and questions: who hears them.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestPeers asks that beats reach all nodes, questions the one that is asked, and nothing
// anybody who is deaf or has stopped. Nobody's bytes are changed by another.
func TestPeers(t *testing.T) {
	p := &Peers{}
	beats := map[uint32]int{}
	var stops []func()
	for node := range uint32(3) {
		stop, err := p.Serve(node, func(b []byte) {
			if string(b) != "beat" {
				t.Errorf("node %d hears %q", node, b)
			}
			b[0] = 'x'
			beats[node]++
		}, func(q []byte) []byte {
			q[0] = byte('0' + node)
			return q
		})
		if err != nil {
			t.Fatal(err)
		}
		stops = append(stops, stop)
	}
	beat := []byte("beat")
	if p.Announce(beat); beats[0] != 1 || beats[1] != 1 || beats[2] != 1 || string(beat) != "beat" {
		t.Errorf("beats %v of %q", beats, beat)
	}
	question := []byte("?")
	for node, want := range map[uint32]string{0: "", 1: "1", 2: "2", 3: ""} {
		if b, err := p.Ask(t.Context(), node, question); string(b) != want || (err == nil) != (want != "") || string(question) != "?" {
			t.Errorf("node %d answers %q, %v", node, b, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Ask(ended, 1, question); err != context.Canceled {
		t.Errorf("a question that is too late: %v", err)
	}
	p.SetDeaf(true)
	p.Announce(beat)
	if _, err := p.Ask(t.Context(), 1, question); err == nil || beats[1] != 1 {
		t.Errorf("a deaf node answers, or hears %d beats", beats[1])
	}
	p.SetDeaf(false)
	stops[1]()
	p.Announce(beat)
	if _, err := p.Ask(t.Context(), 1, question); err == nil || beats[1] != 1 || beats[2] != 2 {
		t.Errorf("a node that has stopped answers, or beats are %v", beats)
	}
}

// TestPeersStop asks that the end of a node waits for the call under way.
func TestPeersStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Peers{}
		slow := func() { time.Sleep(time.Second) }
		for _, call := range []func(){
			func() { p.Announce(nil) },
			func() { _, _ = p.Ask(t.Context(), 1, nil) },
		} {
			stop, err := p.Serve(1, func([]byte) { slow() }, func([]byte) []byte { slow(); return nil })
			if err != nil {
				t.Fatal(err)
			}
			go call()
			synctest.Wait()
			began := time.Now()
			if stop(); time.Since(began) != time.Second {
				t.Errorf("the end waited for %v", time.Since(began))
			}
		}
	})
}
