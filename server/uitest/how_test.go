package uitest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// shown waits until a scene is shown with so many steps done.
func (p *tab) shown(scene string, step int) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`document.querySelector(".stage").dataset.scene === %q && document.querySelector(".stage").dataset.step === "%d"`, scene, step))
}

// set returns the cells that are set.
func (p *tab) set() []int {
	p.t.Helper()
	return js[[]int](p, `[...document.querySelectorAll(".cell.set")].map((c) => Number(c.id.slice(5)))`)
}

// TestLessons clicks every lesson with given positions and reads where it ends.
func TestLessons(t *testing.T) {
	p := alone(t, "/how")
	for _, lesson := range []struct {
		id      string
		steps   int
		set     []int
		hit     []int // of the last key asked for
		miss    []int
		verdict string
	}{
		{"cat-dog", 3, []int{2, 9}, []int{9}, []int{4}, "certainly absent"},
		{"fruit", 5, []int{2, 5, 7, 8}, []int{}, []int{3}, "certainly absent"},
		{"apple-banana-cherry", 7, []int{1, 2, 5, 7, 8, 9}, []int{2, 5, 8}, []int{}, "present"},
		{"colours", 6, []int{1, 3, 4, 5, 9}, []int{3, 4, 5}, []int{}, "false positive"},
	} {
		p.click(fmt.Sprintf(`a[href$="lesson=%s"]`, lesson.id))
		p.shown(lesson.id, 0)
		if got := p.text(".log"); strings.Contains(got, lesson.verdict) {
			t.Errorf("%s tells the answer before it is asked: %q", lesson.id, got)
		}
		p.click(`button[aria-label="Last step"]`)
		p.shown(lesson.id, lesson.steps)
		if got := p.set(); !slices.Equal(got, lesson.set) {
			t.Errorf("%s ends with the bits %v, want %v", lesson.id, got, lesson.set)
		}
		for class, want := range map[string][]int{"hit": lesson.hit, "miss": lesson.miss} {
			got := js[[]int](p, fmt.Sprintf(`[...document.querySelectorAll(".cell.%s")].map((c) => Number(c.id.slice(5)))`, class))
			if !slices.Equal(got, want) {
				t.Errorf("%s ends with the bits %v as %s, want %v", lesson.id, got, class, want)
			}
		}
		if got := p.text(".said"); !strings.Contains(got, lesson.verdict) {
			t.Errorf("%s ends with %q, want %s", lesson.id, got, lesson.verdict)
		}
		if got := p.text(".log [aria-current=step]"); !strings.Contains(got, lesson.verdict) {
			t.Errorf("%s: the last step is %q", lesson.id, got)
		}
	}
	// Black is certainly absent, which is the step before.
	p.click(`button[aria-label="Step back"]`)
	p.shown("colours", 5)
	if got := p.text(".said"); !strings.Contains(got, "“black” is certainly absent") {
		t.Errorf("step 5 of the colours is %q", got)
	}
	where := js[string](p, `location.pathname + location.search`)
	p.visit(where)
	p.shown("colours", 5)
	p.click(`button[aria-label="First step"]`)
	p.shown("colours", 0)
	if got := p.set(); len(got) != 0 {
		t.Errorf("before the first step the bits %v are set", got)
	}
	p.click(`button[aria-label="Play"]`)
	p.shown("colours", 2)
	p.click(`button[aria-label="Pause"]`)
	// Green is not there, and the filter says that it is.
	p.visit("/how?lesson=colours&step=5")
	p.shown("colours", 5)
	p.click(`.guess button:last-of-type`)
	p.shown("colours", 6)
	if got := p.text(".said"); !strings.HasPrefix(got, "It answers otherwise.") {
		t.Errorf("a wrong answer is followed by %q", got)
	}
	// Digits are shown as such, and no false positive is looked for among words that have no places.
	p.click(`a[href$="lesson=map"]`)
	p.shown("map", 0)
	p.click(`button[aria-label="Last step"]`)
	p.shown("map", 6)
	if got := p.text("#cell-5"); got != "7" {
		t.Errorf("place 5 of the check digits shows %q, want 7", got)
	}
	if got := p.text(".given th:nth-of-type(2)"); got != "places" {
		t.Errorf("the words of the map have %q, want places", got)
	}
	if got := p.text(".stage"); strings.Contains(got, "Find a false positive") {
		t.Error("the lesson on maps offers to find a false positive")
	}
}

// TestReports goes through the lesson on a corrected filter: who is reported is shown, and asked for before
// the answer.
func TestReports(t *testing.T) {
	p := alone(t, "/how")
	p.click(`a[href$="lesson=corrected"]`)
	p.shown("corrected", 0)
	reports := func() string { return p.text(`[data-figure=reports]`) }
	if got := reports(); got != "none" {
		t.Errorf("before the first step %q is reported", got)
	}
	for range 5 {
		p.click(`button[aria-label="Next step"]`)
	}
	p.shown("corrected", 5)
	if got := p.text(".said"); !strings.HasPrefix(got, "Report “lion”: reported.") || reports() != "lion" {
		t.Errorf("step 5 is %q, reported: %q", got, reports())
	}
	p.click(`.guess button:last-of-type`)
	p.shown("corrected", 6)
	if got := p.text(".said"); !strings.HasPrefix(got, "You were right. Ask for “lion”: certainly absent.") {
		t.Errorf("step 6 is %q", got)
	}
	p.click(`button[aria-label="Last step"]`)
	p.shown("corrected", 17)
	if got := reports(); got != "wasp, eagle" {
		t.Errorf("in the end %q are reported", got)
	}
	if got := p.text(".log"); !strings.Contains(got, "too late") {
		t.Errorf("no report comes too late: %q", got)
	}
	p.fill("#how-key", "panda")
	js[bool](p, `([...document.querySelectorAll("button")].find((b) => b.innerText === "Report").click(), true)`)
	p.shown("corrected", 18)
	if got := reports(); got != "eagle, panda" {
		t.Errorf("after another report %q are reported", got)
	}
}

// TestWhoSetABit points at a bit and goes to another with the arrow keys.
func TestWhoSetABit(t *testing.T) {
	p := alone(t, "/how?lesson=fruit&step=5")
	p.shown("fruit", 5)
	detail := func() string { return p.text("#cell-detail") }
	js[bool](p, `document.getElementById("cell-5").dispatchEvent(new PointerEvent("pointerover", {bubbles: true}))`)
	if got, want := detail(), "Bit 5: 1, set by “apple”, “orange”"; got != want {
		t.Errorf("bit 5 shows %q, want %q", got, want)
	}
	p.do(chromedp.Focus(chromedp.CSS(".cells")))
	p.do(chromedp.KeyEvent(kb.ArrowRight))
	if got, want := detail(), "Bit 1: 0"; got != want {
		t.Errorf("bit 1 shows %q, want %q", got, want)
	}
	p.do(chromedp.KeyEvent(kb.End))
	if got, want := detail(), "Bit 9: 0"; got != want {
		t.Errorf("the last bit shows %q, want %q", got, want)
	}
	if got := js[string](p, `document.getElementById(document.querySelector(".cells").getAttribute("aria-activedescendant")).getAttribute("aria-label")`); got != "bit 9: 0" {
		t.Errorf("a screen reader reads %q", got)
	}
}

// sceneOf asks the API for a scene.
func (p *tab) sceneOf(query url.Values) map[string]any {
	p.t.Helper()
	text := js[string](p, fmt.Sprintf(`fetch("api/v1/teach?" + %q).then((r) => r.text())`, query.Encode()))
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestPlay uses every kind as a person would: insert, ask, fill, find a false positive,
// and what only some can do.
func TestPlay(t *testing.T) {
	p := alone(t, "/how?kind=standard")
	p.shown("standard", 0)
	do := func(key, button string) {
		t.Helper()
		before := js[int](p, `document.querySelectorAll(".log button").length`)
		if key != "" {
			p.fill("#how-key", key)
		}
		js[bool](p, fmt.Sprintf(`([...document.querySelectorAll("button")].find((b) => b.innerText === %q).click(), true)`, button))
		p.wait(fmt.Sprintf(`document.querySelectorAll(".log button").length === %d`, before+1))
	}
	last := func() string { return p.text(".log li:last-child") }
	for _, kind := range []string{"standard", "blocked", "counting", "scalable", "cuckoo", "window", "corrected"} {
		p.click(fmt.Sprintf(`a[href$="kind=%s"]`, kind))
		p.shown(kind, 0)
		do("apple", "Insert")
		if got := last(); !strings.Contains(got, "inserted") {
			t.Errorf("%s: %q", kind, got)
		}
		do("pear", "Ask")
		if got := last(); !strings.Contains(got, "certainly absent") {
			t.Errorf("%s: %q", kind, got)
		}
		do("apple", "Ask")
		if got := last(); !strings.Contains(got, "present") {
			t.Errorf("%s: %q", kind, got)
		}
		do("", "Add 50 keys")
		if got := p.text(`[data-figure=keys]`); kind != "scalable" && got != "51" {
			t.Errorf("%s: %s keys after 51", kind, got)
		}
		query := url.Values{"kind": {kind}, "do": {"add:apple", "ask:pear", "ask:apple", "fill:50"}}
		steps := p.sceneOf(query)["steps"].([]any)
		if want, got := int(steps[3].(map[string]any)["set"].(float64)), len(p.set()); got != want {
			t.Errorf("%s: %d cells are set, the API has %d", kind, got, want)
		}
		switch kind {
		case "counting", "cuckoo":
			do("apple", "Delete")
			if got := last(); !strings.Contains(got, "deleted") {
				t.Errorf("%s: %q", kind, got)
			}
		case "window":
			for range 4 {
				do("", "Time moves on")
			}
			do("apple", "Ask")
			if got := last(); !strings.Contains(got, "certainly absent") {
				t.Errorf("window: %q after it was dropped", got)
			}
		case "scalable":
			if got := len(p.texts(".panel:not([hidden])")); got < 2 {
				t.Errorf("scalable: %d layers after 51 keys", got)
			}
		case "standard", "corrected":
			do("", "Find a false positive")
			if got := last(); !strings.Contains(got, "false positive") {
				t.Errorf("standard: %q", got)
			}
		}
	}
}

// TestPlayRefuses has its message beside the field.
func TestPlayRefuses(t *testing.T) {
	p := alone(t, "/how?lesson=fruit&step=5")
	p.expect("400")
	p.shown("fruit", 5)
	p.click(`form button[type=submit]`)
	if got := p.text("#how-key-error"); got != "Type a key first." {
		t.Errorf("without a key: %q", got)
	}
	p.fill("#how-key", "pear")
	p.click(`form button[type=submit]`)
	p.wait(`[...document.querySelectorAll(".stage .error")].some((e) => e.innerText.includes("its words are apple, orange, grape and banana"))`)
	p.shown("fruit", 5)
	p.visit("/how?kind=standard&bits=12345")
	p.wait(`[...document.querySelectorAll(".stage .error")].some((e) => e.innerText.includes("256, 512, 1024, 2048 or 4096"))`)
}

// TestOwnWords plays words with positions of an address, as a teacher types them, and others that are
// typed into the form.
func TestOwnWords(t *testing.T) {
	p := alone(t, "/how?bits=10&red=1,3,5&blue=4,5,9&green=3,4,5&do=add:red&do=add:blue&do=ask:green")
	p.shown("given", 3)
	if got := p.set(); !slices.Equal(got, []int{1, 3, 4, 5, 9}) {
		t.Errorf("red and blue set %v", got)
	}
	if got := p.text(".said"); !strings.Contains(got, "false positive") {
		t.Errorf("green: %q", got)
	}
	p.fill("#own-words", "sun: 0, 2\nmoon 2 7")
	p.click(`.own-words button`)
	p.wait(`document.querySelectorAll(".given tbody tr").length === 2`)
	p.fill("#how-key", "moon")
	p.click(`form:not(.own-words) button[type=submit]`)
	p.shown("given", 1)
	if got := p.set(); !slices.Equal(got, []int{2, 7}) {
		t.Errorf("the moon sets %v", got)
	}
	p.visit(js[string](p, `location.pathname + location.search`))
	p.shown("given", 1)
	p.expect("400")
	p.visit("/how?bits=10&red=1,30")
	p.wait(`[...document.querySelectorAll(".error")].some((e) => e.innerText.includes("position 30 is not in an array of 10 bits"))`)
}

// TestThread goes through the lessons as a class does, and comes back to what was done.
func TestThread(t *testing.T) {
	p := alone(t, "/how")
	p.shown("cat-dog", 0)
	if got := p.text(".thread"); !strings.Contains(got, "Next: Three fruit") || !strings.Contains(got, "lesson 1 of ") || !strings.Contains(got, ", 0 done") || strings.Contains(got, "Back") {
		t.Errorf("at the first lesson: %q", got)
	}
	p.click(`button[aria-label="Last step"]`)
	p.wait(`document.querySelector(".thread").innerText.includes(", 1 done")`)
	p.click(`.thread .main`)
	p.shown("fruit", 0)
	if got := p.text(".thread"); !strings.Contains(got, "Back: Cat and dog") {
		t.Errorf("at the second lesson: %q", got)
	}
	p.visit("/how?view=saturation")
	p.wait(`document.querySelector(".thread").innerText.includes(", 1 done")`)
	if got := p.text(".thread"); strings.Contains(got, "Next") {
		t.Errorf("at the last one: %q", got)
	}
	if n := js[int](p, `document.querySelectorAll(".scene.done").length`); n != 1 {
		t.Errorf("%d scenes are marked as done", n)
	}
}

// TestExperiments reads what the poor hash and the full filter show.
func TestExperiments(t *testing.T) {
	p := alone(t, "/how?view=hashes")
	p.wait(`document.querySelectorAll(".side").length === 2`)
	if good, poor := p.text(`[data-hash="XXH3"]`), p.text(`[data-hash="FNV-1a"]`); !strings.Contains(good, "is kept") || !strings.Contains(poor, "times the false positive rate") {
		t.Errorf("the good hash: %q, the poor one: %q", good, poor)
	}
	p.do(chromedp.SetValue(chromedp.CSS("#hash-keys"), "random"))
	js[bool](p, `document.getElementById("hash-keys").dispatchEvent(new Event("change"))`)
	p.wait(`document.querySelector('[data-hash="FNV-1a"]').innerText.includes("is kept")`)
	p.click(`a[href$="view=saturation"]`)
	p.wait(`document.querySelector("#grow-at")?.max === "32"`)
	if got := p.text(".said"); !strings.Contains(got, "The promise is kept.") || !strings.Contains(got, "0 keys") {
		t.Errorf("it begins with %q", got)
	}
	p.do(chromedp.Focus(chromedp.CSS("#grow-at")), chromedp.KeyEvent(kb.End))
	p.wait(`document.querySelector(".said").innerText.includes("The promise is broken.")`)
	p.do(chromedp.Focus(chromedp.CSS("#grow-at")), chromedp.KeyEvent(kb.Home))
	p.wait(`document.querySelector(".said").innerText.includes("The promise is kept.")`)
	// At the capacity it is kept, one step later it is broken.
	js[bool](p, `(() => { const s = document.getElementById("grow-at"); s.value = 8; s.dispatchEvent(new Event("input")); return true; })()`)
	if got := p.text(".said"); !strings.Contains(got, "The promise is kept.") || !strings.Contains(got, "1,000 keys") {
		t.Errorf("at the capacity: %q", got)
	}
	js[bool](p, `(() => { const s = document.getElementById("grow-at"); s.value = 9; s.dispatchEvent(new Event("input")); return true; })()`)
	if got := p.text(".said"); !strings.Contains(got, "The promise is broken.") {
		t.Errorf("past the capacity: %q", got)
	}
}

// TestScenesLook looks at scenes on a telephone and in the dark.
func TestScenesLook(t *testing.T) {
	p := alone(t, "/how")
	p.theme("dark")
	p.size(360, 800)
	for _, scene := range []struct {
		query  string
		judged bool // axe-core takes seconds for thousands of cells
	}{
		{"?lesson=growing&step=8", true}, {"?lesson=static&step=7", true}, {"?bits=10&red=1,3,5&blue=4,5,9&do=add:red", true}, {"?lesson=beside", false},
		{"?lesson=colours", true}, {"?lesson=corrected&step=15", true}, {"?lesson=buckets&step=5", true}, {"?lesson=delete", true}, {"?view=hashes", true}, {"?view=saturation", true},
		{"?lesson=generations", false}, {"?lesson=layers", false}, {"?kind=standard&bits=4096&do=fill:300", false},
		{"?kind=standard&do=add:" + strings.Repeat("W", 48), false},
	} {
		p.visit("/how" + scene.query)
		if wide := p.wide(); wide != "" {
			t.Errorf("%s: wider than the window: %s", scene.query, wide)
		}
		if !scene.judged {
			continue
		}
		for _, v := range p.violations() {
			t.Errorf("%s: %s", scene.query, v)
		}
	}
}
