package filter_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/health"
)

// TestProbingTenThousandFilters measures 10,000 filters of an engine until each has
// been visited, on a clock that is moved by the waits asked for. The account is at
// most 0.1% of a core, and it is honest: it has no less than the processor time of
// the thread that did the work.
func TestProbingTenThousandFilters(t *testing.T) {
	b := newBench(t, 1<<30)
	const filters = 10_000
	var batch [][][]byte
	for i := range filters {
		batch = append(batch, commandtest.Fields(fmt.Sprintf("FILTER.CREATE f:%d bloom CAPACITY 100", i)),
			commandtest.Fields(fmt.Sprintf("FILTER.ADD f:%d a b c d e f g h", i)))
	}
	b.Exec(batch...)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := b.Engine.Health()
	before, measured := threadTime()
	for k.Totals().Walks == 0 { // which takes time too
		for range 100 {
			p := k.Step()
			b.Now = b.Now.Add(p.Owed + p.Spare)
		}
	}
	after, _ := threadTime()
	got := k.Totals()
	t.Logf("%d filters, %d with a state, %d probes, %d evaluations: %v in %v, %.4f%% of a core; the thread took %v",
		filters, got.Filters, got.Probes, got.Evaluations, got.Spent, got.Over, 100*got.Share(), after-before)
	if got.Share() > health.Share {
		t.Errorf("%.4f%% of a core, want at most 0.1%%", 100*got.Share())
	}
	if got.Filters != health.Busiest || got.Visits < filters {
		t.Errorf("%d states and %d visits, want %d and %d", got.Filters, got.Visits, health.Busiest, filters)
	}
	if took := after - before; measured && got.Spent < took*9/10 {
		t.Errorf("%v on the account, and the thread took %v", got.Spent, took)
	}
}

// TestIllFiltersThroughCommands makes filters ill and reads their diagnosis.
func TestIllFiltersThroughCommands(t *testing.T) {
	b := newBench(t, 1<<30)
	fill := func(key string, n int) {
		var batch [][][]byte
		for i := range n {
			batch = append(batch, commandtest.Fields(fmt.Sprintf("FILTER.ADD %s item-%d", key, i)))
		}
		b.Exec(batch...)
	}
	for _, c := range []struct{ create, key, verdict, command string }{
		{"FILTER.CREATE over bloom CAPACITY 1000 ERROR 0.01 PARTS 2", "over", "Rebuild", "FILTER.REBUILD over BEGIN CAPACITY"},
		{"FILTER.CREATE full bloom CAPACITY 2000 ERROR 0.01", "full", "OK", ""},
		{"FILTER.CREATE slots cuckoo CAPACITY 1990 ERROR 0.01", "slots", "Resize", "FILTER.REBUILD slots BEGIN CAPACITY 3000 ERROR 0.01"},
		{"FILTER.CREATE fat bloom CAPACITY 20000 ERROR 0.01 BUDGET 20000", "fat", "Compress", "FILTER.FOLD fat"},
		{"FILTER.CREATE thin bloom CAPACITY 10000 ERROR 0.01 BUDGET 5000", "thin", "Compress", "FILTER.REBUILD thin BEGIN ERROR 0.16"},
		{"FILTER.CREATE grows scalable CAPACITY 100 ERROR 0.01", "grows", "OK", ""},
		{"FILTER.CREATE well bloom CAPACITY 4000 ERROR 0.01", "well", "OK", ""},
	} {
		if got := b.Line(c.create); got != "+OK" {
			t.Fatalf("%s: %s", c.create, got)
		}
		fill(c.key, 2000)
		got := b.fieldsOf(t, c.key)
		if got["verdict"].Text != c.verdict || !strings.HasPrefix(got["command"].Text, c.command) {
			t.Errorf("%s: %s, %s: %s\nwant %s, %s", c.key, got["verdict"].Text, got["command"].Text, got["reason"].Text, c.verdict, c.command)
		}
	}
}

// TestSlowFilterThroughCommands has calls take longer than the SLA of a filter.
func TestSlowFilterThroughCommands(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f standard CAPACITY 1000 SLA 50")
	b.Watch(2 * time.Second)
	b.Tick = 100 * time.Microsecond // between two looks at the clock
	for range 1500 {
		b.Line("FILTER.HAS f a")
	}
	b.Tick = 0
	b.Watch(time.Minute)
	got := b.fieldsOf(t, "f")
	if got["verdict"].Text != "Optimize" || got["command"].Text != "FILTER.REBUILD f BEGIN bloom" {
		t.Errorf("%s: %s (%s)", got["verdict"].Text, got["reason"].Text, got["command"].Text)
	}
}

// TestRateOfPartsIsMeasured probes a filter of eight parts at its capacity and
// compares with the rate of real items, within six standard deviations.
func TestRateOfPartsIsMeasured(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f bloom CAPACITY 4000 ERROR 0.02 PARTS 8")
	var batch [][][]byte
	for i := range 4000 {
		batch = append(batch, commandtest.Fields(fmt.Sprintf("FILTER.ADD f item-%d", i)))
	}
	b.Exec(batch...)
	b.Watch(2 * time.Minute)
	const asked = 30_000
	yes := 0
	for i := range asked / 100 {
		line := "FILTER.HAS f"
		for j := range 100 {
			line += fmt.Sprint(" other-", 100*i+j)
		}
		yes += strings.Count(b.Line(line), "true")
	}
	r, ok := b.Engine.Health().Report(b.watched("f"))
	truth := float64(yes) / asked
	if d := r.Probed - truth; !ok || r.TooFew || d*d > 36*(truth/asked+truth/r.Probes) {
		t.Errorf("probed %v by %v probes, and it is %v", r.Probed, r.Probes, truth)
	}
	if d := r.Predicted - truth; d*d > 0.1*0.1*truth*truth || r.Parts != 8 || r.Items < 3800 || r.Items > 4200 {
		t.Errorf("predicted %v, %d parts, %d items; want about %v, 8 and 4,000", r.Predicted, r.Parts, r.Items, truth)
	}
}

// TestEveryPartIsProbed fills one part of eight: the rate of the filter is an eighth
// of the rate of that part.
func TestEveryPartIsProbed(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f bloom CAPACITY 4000 ERROR 0.02 PARTS 8")
	r := rand.New(rand.NewPCG(1, 1))
	for added := 0; added < 1000; {
		h := r.Uint64()
		if bloomery.Route(h, 3) == 0 {
			b.Line("FILTER.ADDHASH f " + strconv.FormatUint(h, 10))
			added++
		}
	}
	b.Watch(2 * time.Minute)
	got, ok := b.Engine.Health().Report(b.watched("f"))
	part := contents.PartOf(b.State.Names.Lookup([]byte("f"), b.Now.UnixMilli())).Contents().Stats().Predicted
	sigma := math.Sqrt(part / 8 / got.Probes)
	if want := part / 8; !ok || math.Abs(got.Predicted-want) > 0.001 || math.Abs(got.Probed-want) > 0.1*want+6*sigma {
		t.Errorf("predicted %v, probed %v by %v probes, want %v", got.Predicted, got.Probed, got.Probes, want)
	}
}

// TestCuresThatNeedNoItems makes filters ill, sends the command that FILTER.INFO
// names, and sees the verdict go and every item stay.
func TestCuresThatNeedNoItems(t *testing.T) {
	for _, c := range []struct {
		create        string
		items         int
		verdict, cure string
	}{
		{"FILTER.CREATE f bloom CAPACITY 1000 ERROR 0.01", 950, "Resize", "FILTER.GROW f"},
		{"FILTER.CREATE f bloom CAPACITY 10000 ERROR 0.01 PARTS 2", 9700, "Resize", "FILTER.GROW f"},
		{"FILTER.CREATE f bloom CAPACITY 20000 ERROR 0.01 BUDGET 18000", 950, "Compress", "FILTER.FOLD f"},
		{"FILTER.CREATE f standard CAPACITY 20000 ERROR 0.01 BUDGET 18000", 950, "Compress", "FILTER.FOLD f"},
	} {
		b := newBench(t, 1<<30)
		b.Line(c.create)
		b.Watch(5 * time.Second) // it is well at first
		items := ""
		for i := range c.items {
			items += fmt.Sprint(" item-", i)
		}
		b.Line("FILTER.ADD f" + items)
		if c.verdict == "Resize" { // it fills on
			b.Watch(70 * time.Minute)
			b.Line("FILTER.ADD f late")
		}
		b.Watch(70 * time.Second)
		got := b.fieldsOf(t, "f")
		if got["verdict"].Text != c.verdict || got["command"].Text != c.cure {
			t.Errorf("%s: %s (%s), want %s (%s)", c.create, got["verdict"].Text, got["command"].Text, c.verdict, c.cure)
			continue
		}
		if got := b.Line(got["command"].Text); got != "+OK" {
			t.Errorf("%s: %s", c.cure, got)
		}
		b.Watch(100 * time.Second)
		if got := b.fieldsOf(t, "f"); got["verdict"].Text != "OK" {
			t.Errorf("%s, then %s: %s: %s", c.create, c.cure, got["verdict"].Text, got["reason"].Text)
		}
		if got := strings.Count(b.Line("FILTER.HAS f"+items), "true"); got != c.items {
			t.Errorf("%s: %d of %d items are left", c.cure, got, c.items)
		}
	}
}

// TestCureByRebuild makes filters ill whose cure needs the items, sends the command
// that FILTER.INFO names, feeds the items and commits.
func TestCureByRebuild(t *testing.T) {
	for _, c := range []struct{ create, verdict string }{
		{"FILTER.CREATE f bloom CAPACITY 1000 ERROR 0.01", "Rebuild"},
		{"FILTER.CREATE f counting CAPACITY 1000 ERROR 0.01", "Rebuild"},
		{"FILTER.CREATE f cuckoo CAPACITY 1990 ERROR 0.01", "Resize"},
		{"FILTER.CREATE f bloom CAPACITY 3000 ERROR 0.01 BUDGET 3000", "Compress"},
	} {
		b := newBench(t, 1<<30)
		b.Line(c.create)
		items := ""
		for i := range 2000 {
			items += fmt.Sprint(" item-", i)
		}
		b.Line("FILTER.ADD f" + items)
		got := b.fieldsOf(t, "f")
		if got["verdict"].Text != c.verdict || !strings.HasPrefix(got["command"].Text, "FILTER.REBUILD f BEGIN ") {
			t.Errorf("%s: %s (%s), want %s and a rebuild", c.create, got["verdict"].Text, got["command"].Text, c.verdict)
			continue
		}
		if reply := b.Line(got["command"].Text); reply != "+OK" {
			t.Errorf("%s: %s", got["command"].Text, reply)
			continue
		}
		b.Line("FILTER.REBUILD f FEED" + items)
		if reply := b.Line("FILTER.REBUILD f COMMIT"); strings.HasPrefix(reply, "-") {
			t.Errorf("%s: COMMIT: %s", c.create, reply)
		}
		b.Watch(time.Minute)
		if after := b.fieldsOf(t, "f"); after["verdict"].Text != "OK" {
			t.Errorf("%s, then %s: %s: %s", c.create, got["command"].Text, after["verdict"].Text, after["reason"].Text)
		}
		if got := strings.Count(b.Line("FILTER.HAS f"+items), "true"); got != 2000 {
			t.Errorf("%s: %d of 2,000 items are left", c.create, got)
		}
	}
}
