package uitest

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bloomery/bloomery/server"
	"github.com/bloomery/bloomery/sizing"
)

// alone opens a tab of the page without a server.
func alone(t *testing.T, path string) *tab {
	t.Helper()
	s := httptest.NewServer(server.Page())
	t.Cleanup(s.Close)
	return open(t, s.URL, path)
}

// value returns what stands in a field.
func (p *tab) value(selector string) string {
	p.t.Helper()
	return js[string](p, fmt.Sprintf(`document.querySelector(%q).value`, selector))
}

// solved waits until the calculator shows the answer to a query.
func (p *tab) solved(query ...string) {
	p.t.Helper()
	v := make([]string, 0, len(query)/2)
	for i := 0; i+1 < len(query); i += 2 {
		v = append(v, url.QueryEscape(query[i])+"="+url.QueryEscape(query[i+1]))
	}
	p.wait(fmt.Sprintf(`document.getElementById("view").dataset.answer === %q`, strings.Join(v, "&")))
}

// figures reads the five fields.
func (p *tab) figures() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	for _, name := range []string{"n", "p", "m", "k", "bits"} {
		all[name] = p.value("#calc-" + name)
	}
	return all
}

// grouped writes a number as the page does.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// holds compares the fields that are solved with package sizing.
func (p *tab) holds(q sizing.Params) {
	p.t.Helper()
	want, err := sizing.Solve(q)
	if err != nil {
		p.t.Fatal(err)
	}
	got := p.figures()
	for name, text := range map[string]string{"n": grouped(want.N), "m": grouped(want.M), "k": strconv.Itoa(want.K)} {
		given := name == "n" && q.N != 0 || name == "m" && q.M != 0 || name == "k" && q.K != 0
		if !given && got[name] != text {
			p.t.Errorf("%+v: %s = %q, want %q", q, name, got[name], text)
		}
	}
	if q.P == 0 {
		rate, err := strconv.ParseFloat(strings.TrimSuffix(got["p"], "%"), 64)
		if strings.HasSuffix(got["p"], "%") {
			rate /= 100
		}
		if err != nil || rate < 0.999*want.P || rate > 1.001*want.P {
			p.t.Errorf("%+v: p = %q, want %v", q, got["p"], want.P)
		}
	}
	perKey, err := strconv.ParseFloat(got["bits"], 64)
	if exact := float64(want.M) / float64(want.N); err != nil || perKey < 0.998*exact || perKey > 1.002*exact {
		p.t.Errorf("%+v: %q bits per key, want %v", q, got["bits"], exact)
	}
}

// TestCalculatorSolves locks figures, types others, and holds the rest to sizing.
func TestCalculatorSolves(t *testing.T) {
	p := alone(t, "/calculator")
	p.solved("n", "1e6", "p", "1%")
	p.holds(sizing.Params{N: 1_000_000, P: 0.01})
	if got, want := p.text(".sum"), "1,000,000 keys at a false positive rate of 1% take 9,585,059 bits, 1.14 MiB, and a key sets 7 of them."; got != want {
		t.Errorf("the result is %q, want %q", got, want)
	}
	standard, err := sizing.Standard.Size(1_000_000, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if row := p.text(`tr[data-filter=standard]`); !strings.Contains(row, grouped(standard.Bits)) {
		t.Errorf("the standard filter is %q, want %s bits", row, grouped(standard.Bits))
	}
	if got := p.text(`[data-curve=k] .note`); !strings.Contains(got, "standard: lowest at k = 7") {
		t.Errorf("the curve over k says %q", got)
	}

	// A size typed over a rate that is locked: two of three stay, the oldest goes.
	p.fill("#calc-m", "64KiB")
	p.solved("p", "1%", "m", "64KiB")
	p.holds(sizing.Params{P: 0.01, M: 64 << 13})
	if pressed := js[string](p, `document.querySelector("[data-field=n] .lock").getAttribute("aria-pressed")`); pressed != "false" {
		t.Errorf("the lock of n is %s after another figure was given", pressed)
	}
	// Unlocked, and another one in its place.
	p.click("[data-field=p] .lock")
	p.solved("m", "64KiB")
	p.fill("#calc-n", "100k")
	p.solved("m", "64KiB", "n", "100k")
	p.holds(sizing.Params{N: 100_000, M: 64 << 13})
	p.fill("#calc-k", "3")
	p.solved("m", "64KiB", "n", "100k", "k", "3")
	p.holds(sizing.Params{N: 100_000, M: 64 << 13, K: 3})
	if text := p.text("section[aria-labelledby=sum-title]"); !strings.Contains(text, "k = 4 would have the rate") {
		t.Errorf("no better k in %q", text)
	}

	// The address is the state.
	where := js[string](p, `location.pathname + location.search`)
	p.visit(where)
	p.holds(sizing.Params{N: 100_000, M: 64 << 13, K: 3})
	p.click(".examples a:nth-child(3)")
	p.solved("bits", "10")
	p.holds(sizing.Params{N: 1_000_000, M: 10_000_000})
	p.do(chromedp.NavigateBack())
	p.wait(`document.getElementById("calc-k").value === "3"`)
}

// TestCalculatorRefuses types nonsense into every field: the message stands beside it.
func TestCalculatorRefuses(t *testing.T) {
	p := alone(t, "/calculator")
	p.expect("400")
	for field, bad := range map[string][]string{
		"n": {"many", "-1", "0", "1e99"}, "p": {"0", "200%", "often"}, "m": {"0", "9EiB", "big"}, "k": {"0", "2.5", "1e9"}, "bits": {"-3", "NaN", "1e9"},
	} {
		for _, text := range bad {
			p.fill("#calc-"+field, text)
			p.wait(fmt.Sprintf(`document.getElementById("error-%s").innerText !== ""`, field))
			if invalid := js[string](p, fmt.Sprintf(`document.getElementById("calc-%s").getAttribute("aria-invalid")`, field)); invalid != "true" {
				t.Errorf("%s = %q: aria-invalid is %q", field, text, invalid)
			}
		}
		p.visit("/calculator")
	}
	p.fill("#guide-absent", "lots")
	p.wait(`document.getElementById("error-absent").innerText.includes("lots")`)
	p.fill("#guide-absent", "")
	p.fill("#guide-memory", "a shelf")
	p.wait(`document.getElementById("error-memory").innerText.includes("a shelf")`)
	p.fill("#guide-memory", "")
	p.fill("#guide-key_bytes", "0")
	p.wait(`document.getElementById("error-key_bytes").innerText.includes("at least 1")`)
	p.fill("#guide-key_bytes", "")
	p.click("#need-immutable")
	p.click("#need-growth")
	p.wait(`document.getElementById("error-needs").innerText.includes("never changes")`)
	p.fill("#calc-p", "often")
	p.wait(`document.getElementById("error-p").innerText !== ""`)
	p.wait(`document.querySelectorAll(".grid.old:not([hidden]) tr[data-kind]").length > 5`) // the last result stays
	for _, v := range p.violations() {
		t.Errorf("with errors: %s", v)
	}
}

// TestGuide answers questions, and holds the advice to sizing.Advise.
func TestGuide(t *testing.T) {
	p := alone(t, "/calculator?n=1e6&p=1%25")
	for _, step := range []struct {
		box   string
		needs sizing.Needs
	}{
		{"deletes", sizing.Needs{Deletes: true}},
		{"growth", sizing.Needs{Deletes: true, Growth: true}},
		{"counts", sizing.Needs{Deletes: true, Growth: true, Counts: true}},
	} {
		before := js[string](p, `document.getElementById("view").dataset.answer`)
		p.click("#need-" + step.box)
		p.wait(fmt.Sprintf(`document.getElementById("view").dataset.answer !== %q`, before))
		step.needs.Keys, step.needs.ErrorRate = 1_000_000, 0.01
		advice, err := sizing.Advise(step.needs)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.text("#take"); got != advice.Take() {
			t.Errorf("with %s: take %q, want %q", step.box, got, advice.Take())
		}
	}
	if row := p.text(`tr[data-kind=bloom]`); !strings.Contains(row, "Does not serve: it cannot") {
		t.Errorf("the row of bloom is %q", row)
	}
	for _, kind := range []string{"go map", "sorted array", "redis set", "cuckoo", "ribbon"} {
		if n := len(p.texts(fmt.Sprintf(`tr[data-kind=%q]`, kind))); n != 1 {
			t.Errorf("%d rows of %s, want one", n, kind)
		}
	}
	if kinds := p.texts(`tr[data-kind] .kind`); !slices.Equal(kinds[max(0, len(kinds)-3):], []string{"Sorted array", "Go map", "Redis set"}) {
		t.Errorf("exact sets are not the last of %q", kinds)
	}
	p.do(chromedp.SetValue(chromedp.CSS("#copy-kind"), "cuckoo"))
	js[bool](p, `document.getElementById("copy-kind").dispatchEvent(new Event("change"))`)
	p.wait(`document.getElementById("snippet-go").innerText.includes("cuckoo.New(1_000_000, 0.01)")`)
	for id, want := range map[string]string{
		"redis": "redis-cli FILTER.CREATE filter cuckoo CAPACITY 1000000 ERROR 0.01",
		"shell": "bloomery plan n=1000000 p=0.01 --needs growth,deletes,counts",
	} {
		if got := p.text("#snippet-" + id); !strings.HasPrefix(got, want) {
			t.Errorf("%s = %q, want %q first", id, got, want)
		}
	}
}

// TestCalculatorByKeyboard goes from field to lock and back without a mouse.
func TestCalculatorByKeyboard(t *testing.T) {
	p := alone(t, "/calculator")
	p.expect("400") // between two keys the page may ask for 2e, which is no number
	p.do(chromedp.Focus(chromedp.CSS("#calc-n")), chromedp.KeyEvent("2e6"))
	p.solved("n", "2e6", "p", "1%")
	p.holds(sizing.Params{N: 2_000_000, P: 0.01})
	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(" "))
	p.solved("p", "1%")
	if got := js[string](p, `document.activeElement.getAttribute("aria-label")`); got != "Lock Keys" {
		t.Errorf("the focus is on %q, want the lock of n", got)
	}
}

// TestCalculatorOnAPhone asks that the calculator is short on a narrow screen, that what is folded can
// be opened, and is drawn then.
func TestCalculatorOnAPhone(t *testing.T) {
	p := alone(t, "/")
	p.size(375, 812)
	p.visit("/calculator?n=1e6&p=1e-12")
	p.wait(`document.querySelectorAll("details.fold:not([open])").length === 4`)
	if screens := js[float64](p, `document.documentElement.scrollHeight / 812`); screens > 5 {
		t.Errorf("the calculator has %.1f screens", screens)
	} else {
		t.Logf("%.1f screens", screens)
	}
	if got := p.text(".sum"); !strings.Contains(got, "1 in 1 trillion") {
		t.Errorf("a small rate reads %q", got)
	}
	p.click("details.fold summary")
	p.wait(`document.querySelector("details.fold[open] svg")?.getBoundingClientRect().width > 200`)
	if wide := p.wide(); wide != "" {
		t.Errorf("wider than the window: %s", wide)
	}
}
