// Command messages drops duplicate messages and loses none, and finds the senders of a campaign
// by what their filters have in common, without keeping what they sent.
//
//	go run ./examples/messages
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/examples/internal/demo"
)

func main() { demo.Main(run) }

const (
	seenRate   = 0.001 // of new messages for which the store is asked
	senderRate = 0.01
	suspicious = 0.1 // share of common texts above which people compare two senders
)

// traffic is how much is sent.
type traffic struct {
	senders, each int // each sends so many messages
	ring, texts   int // of whom so many send the texts of a campaign beside their own
}

var (
	sample = traffic{senders: 200, each: 500, ring: 8, texts: 200}
	full   = traffic{senders: 1000, each: 5000, ring: 20, texts: 2000}
)

// inbox hands every message on once. What its filter does not have is new for certain. What the filter
// has is looked up in the store: without that a false positive would lose a message.
type inbox struct {
	seen    *compose.Layers
	store   map[string]bool
	lookups int // of the store
}

func newInbox(capacity int) (*inbox, error) {
	f, err := bloom.Config{Capacity: capacity, ErrorRate: seenRate}.New()
	if err != nil {
		return nil, err
	}
	in := &inbox{store: map[string]bool{}}
	in.seen, err = compose.NewLayers(func(id []byte) bool {
		in.lookups++
		return in.store[string(id)]
	}, f)
	return in, err
}

// take reports whether a message is new, so that it is to be handed on.
func (in *inbox) take(id string) (bool, error) {
	if in.seen.ContainsString(id) {
		return false, nil
	}
	in.store[id] = true
	return true, in.seen.InsertString(id)
}

// alike returns the senders that have much in common with another one, by the filters of their texts.
func alike(senders []*bloom.Filter) (found []int, err error) {
	for i, a := range senders {
		for j, b := range senders[:i] {
			common, err := a.Jaccard(b)
			if err != nil {
				return nil, err
			}
			if common > suspicious {
				found = append(found, i, j)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

type figures struct {
	traffic
	duplicates, fresh      demo.Share // messages, with the duplicates handed on and the new ones lost
	lookups                int
	seenBytes, senderBytes int
	ringFound, others      int        // senders
	recognised             demo.Share // texts that the intersection has, and those of the campaign among them
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	t := demo.Pick(o, sample, full)
	f := figures{traffic: t}
	in, err := newInbox(t.senders * t.each)
	if err != nil {
		return figures{}, err
	}
	senders := make([]*bloom.Filter, t.senders)
	for i := range senders {
		senders[i] = bloom.New(t.each, senderRate)
	}
	stream := t.stream(rand.New(rand.NewPCG(5, 6)))
	came := map[string]bool{} // to count mistakes
	for _, m := range stream {
		handedOn, err := in.take(m.id())
		if err != nil {
			return figures{}, err
		}
		if came[m.id()] {
			f.duplicates.Count(handedOn)
		} else {
			f.fresh.Count(!handedOn)
		}
		came[m.id()] = true
		senders[m.sender].AddString(t.text(m))
	}
	f.lookups, f.seenBytes = in.lookups, int(in.seen.Stats().Bytes)
	f.senderBytes = t.senders * int(senders[0].Stats().Bytes)
	err = f.campaign(senders, stream)
	return f, errors.Join(err, ctx.Err())
}

// message is the number-th of a sender.
type message struct{ sender, number int }

func (m message) id() string { return fmt.Sprintf("%d/%d", m.sender, m.number) }

// text returns what a message says. The first senders are the ring.
func (t traffic) text(m message) string {
	if m.sender < t.ring && m.number < t.texts {
		return fmt.Sprintf("buy now, offer %d", m.number)
	}
	return fmt.Sprintf("text %d of %d", m.number, m.sender)
}

// stream returns the messages in the order in which they come; one of five is sent once more,
// as happens when an acknowledgement is lost.
func (t traffic) stream(rng *rand.Rand) (all []message) {
	for sender := range t.senders {
		for number := range t.each {
			all = append(all, message{sender, number})
			if rng.IntN(5) == 0 {
				all = append(all, message{sender, number})
			}
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// campaign finds the senders that are alike, and the texts that all of them have sent: those that the
// intersection of their filters has.
func (f *figures) campaign(senders []*bloom.Filter, stream []message) error {
	ring, err := alike(senders)
	if err != nil || len(ring) == 0 {
		return err
	}
	f.ringFound, _ = slices.BinarySearch(ring, f.ring) // the first senders are the ring
	f.others = len(ring) - f.ringFound
	common := senders[ring[0]].Clone()
	for _, sender := range ring {
		if err := common.Intersect(senders[sender]); err != nil {
			return err
		}
	}
	found := map[string]bool{}
	for _, m := range stream {
		if text := f.text(m); common.ContainsString(text) && !found[text] {
			found[text] = true
			f.recognised.Count(m.sender < f.ring && m.number < f.texts)
		}
	}
	return nil
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("messages", f.duplicates.All+f.fresh.All)
	t.Count("duplicates among them", f.duplicates.All)
	t.Count("duplicates missed", f.duplicates.Yes)
	t.Count("new messages lost", f.fresh.Yes)
	t.Count("looked up in the store", f.lookups)
	t.Percent("false positive rate asked", seenRate)
	t.Percent("measured", float64(f.lookups-f.duplicates.All)/float64(f.fresh.All))
	t.Number("bytes a message", float64(f.seenBytes)/float64(f.fresh.All), 2)
	t.Count("senders", f.senders)
	t.Bytes("filters of what they sent", f.senderBytes)
	t.Count("pairs of senders compared", f.senders*(f.senders-1)/2)
	t.Text("senders of the campaign found", demo.Count(f.ringFound)+" of "+demo.Count(f.ring))
	t.Count("others accused", f.others)
	t.Text("texts of the campaign found", demo.Count(f.recognised.Yes)+" of "+demo.Count(f.texts))
	t.Count("other texts taken for it", f.recognised.All-f.recognised.Yes)
	return t
}
