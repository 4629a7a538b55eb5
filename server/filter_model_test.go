package server_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server"
)

// TestFilterModel runs a random history of every kind through the wire, beside a
// plain map: what was added and not deleted is never denied, counts are never too
// low, and of what was never added few are taken for present. Half of the history is
// before a restart.
func TestFilterModel(t *testing.T) {
	for i, k := range codec.Kinds() {
		if k.Features.Static || k.Features.Forget {
			continue // Stable forgets, which is its law
		}
		t.Run(k.Name, func(t *testing.T) {
			m := model{t: t, kind: k, rng: rand.New(rand.NewPCG(uint64(i), 9)), counts: map[string]int{}, config: server.Config{Dir: t.TempDir(), Fsync: server.Never}}
			m.connect()
			m.create()
			for range 60 {
				m.step()
			}
			m.stop()
			m.connect()
			for range 60 {
				m.step()
			}
			// 1% and five standard deviations; an item is asked for several times.
			if most := 0.01 * float64(m.absent); float64(m.positives) > most+5*2*math.Sqrt(most) {
				t.Errorf("%d of %d absent items were found, asked for 1%%", m.positives, m.absent)
			}
			m.stop()
		})
	}
}

// model is a filter with what should be in it.
type model struct {
	t      *testing.T
	kind   codec.Kind
	rng    *rand.Rand
	config server.Config
	client *client
	end    func() error
	counts map[string]int

	positives, absent int
}

func (m *model) connect() {
	addr, stop := startStop(m.t, m.config)
	m.client, m.end = dial(m.t, addr), stop
}

func (m *model) stop() {
	_ = m.client.nc.Close()
	if err := m.end(); err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) create() {
	args := []string{"FILTER.CREATE", "f", m.kind.Name, "CAPACITY", "6000", "ERROR", "0.01", "PARTS", fmt.Sprint(1 << m.rng.IntN(3))}
	if m.kind.Features.Expire {
		args = append(args, "SPAN", "1000h", "BURST", "6")
	}
	m.client.expect("+OK\r\n", args...)
}

// step adds, deletes, asks or counts a batch.
func (m *model) step() {
	items := make([]string, 1+m.rng.IntN(60))
	for i := range items {
		items[i] = fmt.Sprint("item", m.rng.IntN(2000))
	}
	f := m.kind.Features
	switch k := m.rng.IntN(10); {
	case k < 4:
		m.run("FILTER.ADD", items)
		for _, v := range items {
			m.counts[v]++
		}
	case k < 6 && f.Delete:
		items = m.present(items)
		for i, yes := range m.run("FILTER.DEL", items) {
			if yes != ":1" {
				m.t.Fatalf("DEL %s, which is there, answers %s", items[i], yes)
			}
			m.counts[items[i]]--
		}
	case k < 7 && f.Count:
		for i, n := range m.run("FILTER.COUNT", items) {
			var got int
			if _, err := fmt.Sscanf(n, ":%d", &got); err != nil || got < m.counts[items[i]] {
				m.t.Fatalf("COUNT %s = %s, it was added %d times", items[i], n, m.counts[items[i]])
			}
		}
	default:
		for i, yes := range m.run("FILTER.HAS", items) {
			switch {
			case m.counts[items[i]] > 0 && yes != ":1":
				m.t.Fatalf("HAS %s denies an item that was added", items[i])
			case m.counts[items[i]] == 0:
				if m.absent++; yes == ":1" {
					m.positives++
				}
			}
		}
	}
}

// present returns those items that are there, each as often as it is named at most.
func (m *model) present(items []string) []string {
	var there []string
	left := map[string]int{}
	for _, v := range items {
		if left[v]++; left[v] <= m.counts[v] {
			there = append(there, v)
		}
	}
	return there
}

// run sends a command and returns the elements of its reply.
func (m *model) run(name string, items []string) []string {
	if len(items) == 0 {
		return nil
	}
	reply := m.client.do(append([]string{name, "f"}, items...)...)
	lines := strings.Split(strings.TrimSuffix(reply, "\r\n"), "\r\n")
	if len(lines) != len(items)+1 {
		m.t.Fatalf("%s of %d items = %.100q", name, len(items), reply)
	}
	return lines[1:]
}
