package metrics

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/health"
)

// TestChoose prefers what needs somebody, then what is large or busy.
func TestChoose(t *testing.T) {
	list := []row{
		{id: 1, bytes: 10, calls: 1}, {id: 2, bytes: 20}, {id: 3, bytes: 30}, {id: 4, bytes: 1, calls: 100}, {id: 5, bytes: 1, calls: 50},
		{id: 6, verdict: health.Resize}, {id: 7, odd: true}, {id: 8, bytes: 10, calls: 1},
	}
	for _, c := range []struct {
		n    int
		want string
	}{{0, ""}, {1, "7"}, {2, "7 6"}, {4, "7 6 3 4"}, {6, "7 6 3 2 4 5"}, {7, "7 6 3 2 4 5 1"}, {8, "7 6 3 2 1 4 5 8"}, {100, "7 6 3 2 1 4 5 8"}} {
		rows := append([]row(nil), list...)
		var got []string
		for _, r := range rows[:choose(rows, c.n)] {
			got = append(got, strconv.FormatUint(r.id, 10))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%d of all are %s, want %s", c.n, text, c.want)
		}
	}
}

// TestLabelsAreBounded makes more filters, with hostile names, than have labels: the
// others are summed up.
func TestLabelsAreBounded(t *testing.T) {
	const most = 20
	b := newBench(t, nil, most)
	names := []string{"", "_other", `\_other`, "\xff\xfe", `\xff`, "a\nb", `q"x"`, "{x=\"y\"} 1", "\x00", strings.Repeat("l", 100_000), strings.Repeat("l", 100_000) + "2"}
	for len(names) < 3*most {
		names = append(names, fmt.Sprint("filter-", len(names)))
	}
	for i, name := range names {
		capacity := "1000"
		if i < 11 {
			capacity = "5000" // the hostile ones are the largest
		}
		if got := b.do("BF.RESERVE", name, "0.01", capacity); got.Text != "OK" {
			t.Fatalf("BF.RESERVE %.20q: %v", name, got)
		}
		b.do("BF.ADD", name, "x")
	}
	b.Watch(time.Minute)
	got := b.scrape(t)
	labels := map[string]bool{}
	items, sum := 0.0, got[`bloomery_filter_items{filter="_other"}`]
	for name, v := range got {
		if rest, ok := strings.CutPrefix(name, `bloomery_filter_items{filter="`); ok {
			labels[strings.TrimSuffix(rest, `"}`)] = true
			items += v
		}
	}
	if len(labels) != most+1 || items != float64(len(names)) || sum != float64(len(names)-most) || got[`bloomery_filters`] != float64(len(names)) {
		t.Errorf("%d labels with %v items, %v of them elsewhere, %v filters; want %d and %d", len(labels), items, sum, got[`bloomery_filters`], most+1, len(names))
	}
	for _, want := range []string{``, `\\_other`, `\\\\_other`, `\\xff\\xfe`, `\\\\xff`, `a\nb`, `q\"x\"`, `{x=\"y\"} 1`, "\x00"} {
		if !labels[want] {
			t.Errorf("no filter has the label %q", want)
		}
	}
	if size := len(b.text(t)); size > 100_000 {
		t.Errorf("a scrape of %d filters has %d bytes", most, size)
	}
}

// TestWorstNamesAreBounded has as many filters as get labels, with names that take the
// most room: a scrape stays below 2 MB.
func TestWorstNamesAreBounded(t *testing.T) {
	b := newBench(t, nil, DefaultFilters)
	calls := make([][][]byte, DefaultFilters+10)
	for i := range calls {
		calls[i] = [][]byte{[]byte("BF.ADD"), fmt.Appendf(nil, "%04d%s", i, strings.Repeat("\"", 200)), []byte("x")}
		if i%2 == 1 {
			calls[i][1] = fmt.Appendf(nil, "%04d%s", i, strings.Repeat("\xff", 200))
		}
	}
	b.pipeline(calls)
	b.Watch(time.Minute)
	text := b.text(t)
	if got := b.scrape(t)[`bloomery_filters`]; got != float64(len(calls)) {
		t.Errorf("%v filters are seen, want %d", got, len(calls))
	}
	if size := len(text); size > 2_000_000 {
		t.Errorf("a scrape has %d bytes", size)
	}
}

// craft returns n items that all fall into one block of a filter with the public hash.
func craft(n, capacity int) [][]byte {
	blocks := bloom.New(capacity, 0.01).Shape().Bits / 512
	var items [][]byte
	for i := 0; len(items) < n; i++ {
		item := strconv.AppendInt([]byte("aimed-"), int64(i), 10)
		if block, _ := bits.Mul64(hashing.Hasher{}.Hash(item), blocks); block == 7 {
			items = append(items, item)
		}
	}
	return items
}

// TestPoisoningIsSeen aims items at one block of two filters, one with the public hash
// and one with a secret key: the first has an anomaly, the second has none. The same
// with items that set as many new bits as they can.
func TestPoisoningIsSeen(t *testing.T) {
	b := newBench(t, nil, 10)
	const capacity = 5000
	crafted := craft(500, capacity)
	polluting := pollute(2000)
	for _, key := range []string{"open", "keyed"} {
		more := []string{}
		if key == "keyed" {
			more = []string{"KEYED", "k1"}
		}
		for name, args := range map[string][]string{
			"blocks-" + key: {"bloom", "CAPACITY", strconv.Itoa(capacity), "ERROR", "0.01"},
			"bits-" + key:   {"standard", "CAPACITY", "2000", "ERROR", "0.01"},
		} {
			if got := b.do(append(append([]string{"FILTER.CREATE", name}, args...), more...)...); got.Text != "OK" {
				t.Fatalf("FILTER.CREATE: %v", got)
			}
		}
	}
	honest := make([][]byte, 2000)
	for i := range honest {
		honest[i] = strconv.AppendInt([]byte("honest-"), int64(i), 10)
	}
	for _, key := range []string{"open", "keyed"} {
		b.addAll("blocks-"+key, honest)
	}
	b.Watch(time.Minute)
	for name, v := range b.scrape(t) {
		if strings.HasPrefix(name, "bloomery_filter_anomaly") && v != 0 {
			t.Errorf("%s is %v before the attack", name, v)
		}
	}
	for _, key := range []string{"open", "keyed"} {
		b.addAll("blocks-"+key, crafted)
		b.addAll("bits-"+key, polluting)
	}
	b.Watch(5 * time.Minute)
	got := b.scrape(t)
	for name, want := range map[string]float64{"blocks-open": 1, "blocks-keyed": 0, "bits-open": 1, "bits-keyed": 0} {
		if v, ok := got[`bloomery_filter_anomaly{filter="`+name+`"}`]; v != want || !ok {
			t.Errorf("the anomaly of %s is %v, want %v; asked %v, probed %v, skew %v", name, v, want,
				got[`bloomery_filter_fpr_asked{filter="`+name+`"}`], got[`bloomery_filter_fpr_probed{filter="`+name+`"}`], got[`bloomery_filter_skew{filter="`+name+`"}`])
		}
	}
	if got[`bloomery_filters_anomalous`] != 2 {
		t.Errorf("%v filters have an anomaly, want 2", got[`bloomery_filters_anomalous`])
	}
}

// pollute returns n items of which each was chosen among eight because it sets the most
// bits of a standard filter for n items with the public hash.
func pollute(n int) [][]byte {
	model := bloom.NewStandard(n, 0.01)
	items := make([][]byte, n)
	for i := range items {
		var best *bloom.Standard
		for j := range 32 {
			item, with := strconv.AppendInt([]byte("polluting-"), int64(32*i+j), 10), model.Clone()
			with.Add(item)
			if best == nil || with.Stats().Saturation > best.Stats().Saturation {
				best, items[i] = with, item
			}
		}
		model = best
	}
	return items
}

// TestScrapesWhileFiltersComeAndGo scrapes while names are made, renamed and deleted.
func TestScrapesWhileFiltersComeAndGo(t *testing.T) {
	b := newBench(t, nil, 50)
	stop := make(chan struct{})
	var scraping sync.WaitGroup
	for range 2 {
		scraping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				rec := httptest.NewRecorder()
				b.handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
				if rec.Code != http.StatusOK {
					t.Errorf("a scrape answers %d: %s", rec.Code, rec.Body)
				}
				parse(t, rec.Body.String())
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		name, to := fmt.Sprint("f", r.IntN(20)), fmt.Sprint("f", r.IntN(20))
		switch r.IntN(4) {
		case 0:
			b.do("DEL", name)
		case 1:
			b.do("RENAME", name, to)
		case 2:
			b.do("EXPIRE", name, "1")
		default:
			b.do("BF.ADD", name, "x")
		}
		b.Engine.Health().Step()
	}
	close(stop)
	scraping.Wait()
}

// BenchmarkScrape scrapes a server of 10,000 filters.
func BenchmarkScrape(b *testing.B) {
	s := newBench(b, nil, DefaultFilters)
	s.makeFilters(10_000)
	for range 100 { // commands in use have metrics, too
		s.do("PING")
		s.do("BF.EXISTS", "tenant:1:seen-urls", "y")
	}
	size := len(s.text(b))
	for b.Loop() {
		s.text(b)
	}
	b.ReportMetric(float64(size), "bytes")
}

// TestRowsAndTheirSum holds the metrics of a filter to its report, and those of all
// that have no label to their sum.
func TestRowsAndTheirSum(t *testing.T) {
	var report health.Report
	report.Items, report.Capacity, report.Bytes, report.TooFew, report.TrafficTooFew = 5, 10, 100, true, true
	for i := range report.Calls {
		report.Calls[i] = 1 << i
	}
	r := newRow(7, &report)
	if want := uint64(1)<<len(report.Calls) - 1; r.calls != want || r.urgency() != 0 {
		t.Errorf("%d calls, urgency %d, want %d and 0", r.calls, r.urgency(), want)
	}
	odd := r
	odd.odd, odd.items, odd.capacity, odd.verdict = true, math.MaxUint64, 0, health.Resize
	if odd.urgency() != 2 {
		t.Errorf("urgency of an anomaly %d, want 2", odd.urgency())
	}
	var s rest
	for _, r := range []row{r, r, odd} {
		s.count(&r)
	}
	for i, want := range []struct{ one, odd, sum float64 }{{5, math.NaN(), 10}, {10, math.NaN(), 20}, {100, 100, 300}, {0, 1, 1}} {
		f := filterFigures[i]
		for _, got := range [][2]float64{{f.of(&r), want.one}, {f.of(&odd), want.odd}, {f.sum(&s), want.sum}} {
			if got[0] != got[1] && !(math.IsNaN(got[0]) && math.IsNaN(got[1])) {
				t.Errorf("%s is %v, want %v", f.desc, got[0], got[1])
			}
		}
	}
	if probed := r.probed; !math.IsNaN(probed) {
		t.Errorf("a rate of too few probes is %v", probed)
	}
}
