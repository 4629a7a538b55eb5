package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
	"github.com/bloomery/bloomery/bench/internal/report"
	"github.com/bloomery/bloomery/internal/resp"
)

// What a cluster does whose contents are spread: six nodes, TLS between them, two copies.
const (
	spreadNodes  = 6
	spreadCopies = 2
	manySizes    = 200 // filters of mixed sizes
)

// startSpread starts the nodes, and has them hold different contents.
func startSpread(n *nodes) error {
	secret := filepath.Join(n.dir, "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("a secret of benchmarks, nothing else ", 2)+"\n"), 0o600); err != nil {
		return err
	}
	n.more = append(n.more, "--cluster-secret-file", secret)
	if _, err := n.start("PING"); err != nil {
		return err
	}
	for i := logNodes; i < spreadNodes; i++ {
		if err := n.add(i); err != nil {
			return err
		}
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Second) { // until all have heard of all
		err := at(n.all[0].Addr(), "CLUSTER UPGRADE", "CLUSTER COPIES "+strconv.Itoa(spreadCopies))
		if err == nil {
			break
		}
		if time.Now().After(end) {
			return err
		}
	}
	return n.settle()
}

// add starts another node, and returns when it serves.
func (n *nodes) add(i int) error {
	if err := n.launch(i, "n"+strconv.Itoa(i+1)); err != nil {
		return err
	}
	return awaitAnswer(n.all[i].Addr(), patience, "PING")
}

// settle returns when each node holds what it is to hold.
func (n *nodes) settle() error {
	c, err := dial(n.all[0].Addr())
	if err != nil {
		return err
	}
	defer c.close()
	for end := time.Now().Add(10 * patience); time.Now().Before(end); time.Sleep(time.Second) {
		reply, err := c.do("CLUSTER", "REBALANCE")
		if err == nil && len(reply.Array) == 0 {
			info, err := c.info("cluster")
			if err == nil && info["cluster_shards_learning"] == "0" && info["cluster_shards_retiring"] == "0" {
				return nil
			}
		}
	}
	return errors.New("moves do not end")
}

// info returns the fields of a section of INFO.
func (c *client) info(section string) (map[string]string, error) {
	reply, err := c.do("INFO", section)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(reply.Text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	return fields, nil
}

// field returns a number that a node says of itself.
func field(addr, section, name string) (uint64, error) {
	c, err := dial(addr)
	if err != nil {
		return 0, err
	}
	defer c.close()
	info, err := c.info(section)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(info[name], 10, 64)
}

// holders returns the nodes that hold a filter of one part, and those that do not.
func (n *nodes) holders(key string) (holds, others []*process.Process, err error) {
	c, err := dial(n.all[0].Addr())
	if err != nil {
		return nil, nil, err
	}
	defer c.close()
	reply, err := c.do("CLUSTER", "KEYSLOT", key)
	if err != nil {
		return nil, nil, err
	}
	slot := reply.Int
	if reply, err = c.do("CLUSTER", "SLOTS"); err != nil {
		return nil, nil, err
	}
	for i := range reply.Array {
		r := reply.Array[i].Array
		if len(r) < 3 || slot < r[0].Int || slot > r[1].Int {
			continue
		}
		for _, p := range n.all[:spreadNodes] {
			if slices.ContainsFunc(r[2:], func(at resp.Reply) bool { return strconv.FormatInt(at.Array[1].Int, 10) == p.Port }) {
				holds = append(holds, p)
			} else {
				others = append(others, p)
			}
		}
	}
	if len(holds) != spreadCopies {
		return nil, nil, fmt.Errorf("%s is held by %d nodes", key, len(holds))
	}
	return holds, others, nil
}

// keepsLog reports whether a node keeps the log.
func (n *nodes) keepsLog(p *process.Process) bool { return slices.Index(n.all, p) < logNodes }

// find returns a name whose holders, and the other nodes, are as ok wants them.
func (n *nodes) find(prefix string, ok func(holds, others []*process.Process) bool) (key string, holds, others []*process.Process, err error) {
	for i := 0; ; i++ {
		key = prefix + strconv.Itoa(i)
		if holds, others, err = n.holders(key); err != nil || ok(holds, others) {
			return key, holds, others, err
		}
	}
}

// measureSpread measures such a cluster, and writes a table of its figures.
func measureSpread(o options, n *nodes, only *regexp.Regexp) (*report.Table, error) {
	t := &report.Table{Head: []string{"contents spread over six nodes, two copies", "target", "value", "quartiles", ""}}
	if err := startSpread(n); err != nil {
		return t, err
	}
	if only.MatchString("idle") {
		list, err := idle(o, n.all)
		if err != nil {
			return t, err
		}
		share, memory := each(list, idleNode.percent), each(list, idleNode.megabytes)
		t.Row("an idle node: of a processor", "–", fmt.Sprintf("**%.2f%%**", report.Median(share)), report.Span(share, "%.2f%%"), "")
		t.Row("an idle node: memory", "–", fmt.Sprintf("**%.0f MB**", report.Median(memory)), report.Span(memory, "%.0f MB"), "")
	}
	if only.MatchString("memory") {
		if err := spreadMemory(n, t); err != nil {
			return t, err
		}
	}
	one, join := "", only.MatchString("join")
	if join || slices.ContainsFunc(costRows[:], func(r costRow) bool { return only.MatchString(r.name) }) {
		var err error
		if one, err = spreadCosts(o, n, t, only); err != nil {
			return t, err
		}
	}
	if only.MatchString(passingOver) {
		if err := spreadPassing(o, n, t); err != nil {
			return t, err
		}
	}
	if join {
		if err := spreadJoin(o, n, t, one); err != nil {
			return t, err
		}
	}
	return t, nil
}

// spreadMemory makes filters of many sizes, and looks at how they are shared.
func spreadMemory(n *nodes, t *report.Table) error {
	before, err := n.contents()
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var lines []string
	for i := range manySizes {
		lines = append(lines, fmt.Sprintf("FILTER.CREATE mixed%d bloom CAPACITY %d PARTS %d", i, 10_000<<rng.IntN(7), 64<<rng.IntN(4)))
	}
	if err := at(n.all[0].Addr(), lines...); err != nil {
		return err
	}
	time.Sleep(5 * time.Second) // until all have made theirs
	after, err := n.contents()
	if err != nil {
		return err
	}
	most, sum := 0.0, 0.0
	for i := range after {
		size := float64(after[i] - before[i])
		most, sum = max(most, size), sum+size
	}
	over := most * spreadNodes / sum
	t.Row(fmt.Sprintf("%d filters of 64 to 512 parts: contents of the fullest node over the mean", manySizes), "≤ 1.1", fmt.Sprintf("**%.3f**", over), fmt.Sprintf("%.0f MB in all", sum/1e6), verdict(over <= 1.1))
	lines = nil
	for i := range manySizes {
		lines = append(lines, fmt.Sprintf("DEL mixed%d", i))
	}
	return at(n.all[0].Addr(), lines...)
}

// contents returns how many bytes of contents each node has.
func (n *nodes) contents() (list []uint64, err error) {
	for _, p := range n.all[:spreadNodes] {
		v, err := field(p.Addr(), "memory", "used_memory_dataset")
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// side is a load, and the node that is put under it.
type side struct {
	load
	at *process.Process
}

func (s side) run(d time.Duration) (items uint64, err error) {
	return s.drive([]string{s.at.Addr()}, d)
}

// costRow is a row of spreadCosts.
type costRow struct {
	name   string
	target float64
}

// costRows are the rows of spreadCosts.
var costRows = [...]costRow{
	{"`FILTER.HAS` of 1,000 items, 128 parts: CPU an item over a filter that every node holds", 3},
	{"the same with 10,000 items", 1.6},
	{"`BF.EXISTS`, pipeline 64: CPU at a node that does not hold the filter over one that does", 2},
	{"`BF.MADD` of 1,000 at a node that does not hold the filter over one that does", 1.15},
}

// spreadCosts compares the processor time, of all nodes, of what is held elsewhere with what is held
// by the node that clients talk to. What the nodes take that nobody uses is not counted. It returns the name of a
// filter of one part, whose holders keep no log: to send an add costs each of them the same.
func spreadCosts(o options, n *nodes, t *report.Table, only *regexp.Regexp) (one string, err error) {
	one, holds, others, err := n.find("one", func(holds, _ []*process.Process) bool { return !slices.ContainsFunc(holds, n.keepsLog) })
	if err != nil {
		return one, err
	}
	size := strconv.FormatUint(o.capacity, 10)
	if err := at(n.all[0].Addr(), "FILTER.CREATE near bloom CAPACITY "+size+" REPLICAS ALL", "FILTER.CREATE far bloom CAPACITY "+size+" PARTS 128", "BF.RESERVE "+one+" 0.01 "+size); err != nil {
		return one, err
	}
	for _, f := range []string{"near", "far"} {
		if err := fill(n.all[0].Addr(), "FILTER.ADD", f, o.capacity/4, 1); err != nil {
			return one, err
		}
	}
	if err := fill(n.all[0].Addr(), "BF.MADD", one, o.capacity/4, 1); err != nil {
		return one, err
	}
	const clients = 2
	var refused atomic.Uint64
	reads := func(command, filter string, items, pipeline int, at *process.Process) side {
		return side{load{command: command, filter: filter, filters: 1, items: items, pipeline: pipeline, clients: clients, keys: o.capacity / 2, reads: true, refused: &refused}, at}
	}
	adds := func(at *process.Process) side {
		return side{load{command: "BF.MADD", filter: one, filters: 1, items: 1000, pipeline: 1, clients: clients, keys: 100 * o.capacity}, at}
	}
	sides := [len(costRows)][2]side{
		{reads("FILTER.HAS", "far", 1000, 1, others[0]), reads("FILTER.HAS", "near", 1000, 1, others[0])},
		{reads("FILTER.HAS", "far", 10000, 1, others[0]), reads("FILTER.HAS", "near", 10000, 1, others[0])},
		{reads("BF.EXISTS", one, 1, 64, others[0]), reads("BF.EXISTS", one, 1, 64, holds[0])},
		{adds(others[0]), adds(holds[0])},
	}
	for i, c := range costRows {
		if !only.MatchString(c.name) {
			continue
		}
		var ratios, far, local []float64
		for round := range o.rounds {
			var idle time.Duration // of all nodes, in as long as a run takes
			cost := [2]float64{}
			for k := range 3 {
				time.Sleep(settling)
				before, err := cpu(n.all[:spreadNodes]...)
				if err != nil {
					return one, err
				}
				at, items := (k+round)%2, uint64(0)
				if k == 0 {
					time.Sleep(o.time)
				} else if items, err = sides[i][at].run(o.time); err != nil {
					return one, err
				}
				after, err := cpu(n.all[:spreadNodes]...)
				if err != nil {
					return one, err
				}
				if k == 0 {
					idle = after - before
				} else {
					cost[at] = max(0, after-before-idle).Seconds() / float64(items)
				}
			}
			ratios, far, local = append(ratios, cost[0]/cost[1]), append(far, cost[0]*1e6), append(local, cost[1]*1e6)
		}
		middle := report.Median(ratios)
		fmt.Fprintf(os.Stderr, "%s: %.2f; %d refused\n", c.name, middle, refused.Swap(0))
		t.Row(c.name, fmt.Sprintf("≤ %g", c.target), fmt.Sprintf("**%.2f**: %.2f and %.2f µs", middle, report.Median(far), report.Median(local)), report.Quartiles(ratios, "%.2f"), verdict(middle <= c.target))
	}
	return one, nil
}

// passingOver is the row of spreadPassing.
const passingOver = "`BF.MADD` of 1,000: CPU of a node that holds nothing of it over a holder, neither of which keeps the log"

// spreadPassing compares nodes that receive the same adds: one that holds the filter, and one that
// passes over them.
func spreadPassing(o options, n *nodes, t *report.Table) error {
	keepsNone := func(p *process.Process) bool { return !n.keepsLog(p) }
	key, holds, others, err := n.find("passed", func(holds, others []*process.Process) bool {
		return slices.ContainsFunc(holds, keepsNone) && slices.ContainsFunc(others, keepsNone)
	})
	if err != nil {
		return err
	}
	pair := []*process.Process{others[slices.IndexFunc(others, keepsNone)], holds[slices.IndexFunc(holds, keepsNone)]}
	if err := at(n.all[0].Addr(), "BF.RESERVE "+key+" 0.01 "+strconv.FormatUint(100*o.capacity, 10)); err != nil {
		return err
	}
	adds := side{load{command: "BF.MADD", filter: key, filters: 1, items: 1000, pipeline: 1, clients: 2, keys: 100 * o.capacity}, n.all[0]}
	var ratios []float64
	for range o.rounds {
		var took [2][2]time.Duration // idle, and under load
		for k := range took {
			time.Sleep(settling)
			for i, p := range pair {
				before, err := p.CPU()
				if err != nil {
					return err
				}
				took[k][i] = -before
			}
			if k == 0 {
				time.Sleep(o.time)
			} else if _, err := adds.run(o.time); err != nil {
				return err
			}
			for i, p := range pair {
				after, err := p.CPU()
				if err != nil {
					return err
				}
				took[k][i] += after
			}
		}
		ratios = append(ratios, float64(took[1][0]-took[0][0])/float64(max(1, took[1][1]-took[0][1])))
	}
	middle := report.Median(ratios)
	t.Row(passingOver, "≤ 0.8", fmt.Sprintf("**%.2f**", middle), report.Quartiles(ratios, "%.2f"), verdict(middle <= 0.8))
	return nil
}

// spreadJoin has a seventh node join under reads and writes.
func spreadJoin(o options, n *nodes, t *report.Table, one string) error {
	w, err := write(n.all[0].Addr(), "joining")
	if err != nil {
		return err
	}
	var reads, slow atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	errs := make([]error, spreadNodes)
	for i, p := range n.all[:spreadNodes] {
		wg.Go(func() { errs[i] = lookups(p.Addr(), o.capacity/4, stop, &reads, &slow) })
	}
	began, learns := time.Now(), 0
	err = n.add(spreadNodes)
	if err == nil {
		learns, err = n.toLearn(uint64(spreadNodes + 1))
	}
	if err == nil {
		err = n.settle()
	}
	took := time.Since(began)
	close(stop)
	wg.Wait()
	acked := w.acked.Load()
	if err = errors.Join(err, w.end(), errors.Join(errs...)); err != nil {
		return err
	}
	share := float64(learns) / (1024 * spreadCopies)
	t.Row("a seventh node joins: share of the copies that move", "≤ 1/7 + 5%", fmt.Sprintf("**%.3f**", share), fmt.Sprintf("%.0f s", took.Seconds()), verdict(share <= 1./7+0.05))
	part := float64(slow.Load()) / float64(reads.Load())
	t.Row("meanwhile: reads over 50 ms, or refused", "≤ 0.1%", fmt.Sprintf("**%.3f%%**", 100*part), fmt.Sprintf("%d reads", reads.Load()), verdict(part <= 0.001))
	lacks := 0
	for _, p := range n.all[:spreadNodes+1] {
		c, err := dial(p.Addr())
		if err != nil {
			return err
		}
		for filter, numbers := range map[string][]uint64{"joining": upTo(acked), "far": upTo(min(o.capacity/4, 200_000)), one: upTo(min(o.capacity/4, 200_000))} {
			command := "BF.MEXISTS"
			if filter == "far" {
				command = "FILTER.HAS"
			}
			missing, err := c.missing(command, filter, numbers)
			if err != nil {
				return errors.Join(err, c.nc.Close())
			}
			lacks += missing
		}
		c.close()
	}
	t.Row("keys lost, asked for at each node", "0", fmt.Sprintf("**%d**", lacks), "", verdict(lacks == 0))
	return nil
}

// toLearn waits until a node has a share, and returns how many copies have to move to all nodes.
func (n *nodes) toLearn(node uint64) (learns int, err error) {
	c, err := dial(n.all[0].Addr())
	if err != nil {
		return 0, err
	}
	defer c.close()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		reply, err := c.do("CLUSTER", "REBALANCE", "DRYRUN")
		if err != nil {
			return 0, err
		}
		learns = 0
		own := false
		for i := range reply.Array {
			row := reply.Array[i].Array
			if len(row) < 2 {
				return 0, errors.New("a row of CLUSTER REBALANCE is too short")
			}
			own = own || uint64(row[0].Int) == node && row[1].Int > 0
			learns += int(row[1].Int)
		}
		if own {
			return learns, nil
		}
	}
	return 0, fmt.Errorf("node %d is to learn nothing", node)
}

// lookups looks for one number after the other, and counts answers that took long.
func lookups(addr string, keys uint64, stop <-chan struct{}, reads, slow *atomic.Int64) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	rng := rand.New(rand.NewPCG(5, 6))
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(2 * time.Millisecond):
		}
		c.out = appendNumber(appendHead(c.out, "FILTER.HAS", "far", 1), rng.Uint64N(keys))
		began := time.Now()
		if err := c.send(); err != nil {
			return err
		}
		_, err := c.receive()
		if err != nil && !isDown(err) {
			return err
		}
		reads.Add(1)
		if err != nil || time.Since(began) > 50*time.Millisecond {
			slow.Add(1)
		}
	}
}
