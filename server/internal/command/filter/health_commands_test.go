package filter_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestFilterFalse reports false positives of a BF and a CF.
func TestFilterFalse(t *testing.T) {
	for _, f := range []string{"BF", "CF"} {
		t.Run(f, func(t *testing.T) {
			b := newBench(t, 1<<30)
			key := strings.ToLower(f)
			b.Line(f + ".ADD " + key + " a")
			b.Watch(2 * time.Second)
			b.Line(f + ".MEXISTS " + key + " a x y z")
			if got := b.Line("FILTER.FALSE " + key + " a x"); got != "[true false]" {
				t.Errorf("FILTER.FALSE answers %s, want [true false]: the filter does not have x", got)
			}
			r, ok := b.Engine.Health().Report(b.watched(key))
			if !ok || r.False != 1 || r.Negatives != 3 || r.Traffic != 0.25 {
				t.Errorf("%d reported, %d negatives, rate %v, want 1, 3 and 0.25", r.False, r.Negatives, r.Traffic)
			}
			if got := b.infoField("health_false_positives_reported"); got != "1" {
				t.Errorf("INFO has %s reported, want 1", got)
			}
			if r.Calls[2] != 1 {
				t.Errorf("%d calls of has, want 1: FILTER.FALSE is no lookup of the traffic", r.Calls[2])
			}
		})
	}
}

// TestFilterRepair repairs a BF and a CF: what was missing is added, once, kept in
// the log, and raises an alarm; what was there is not added again.
func TestFilterRepair(t *testing.T) {
	for _, f := range []string{"BF", "CF"} {
		t.Run(f, func(t *testing.T) {
			b := newBench(t, 1<<30)
			key := strings.ToLower(f)
			b.Line(f + ".ADD " + key + " a")
			if got := b.Line("FILTER.REPAIR " + key + " a"); got != "[false]" || b.infoField("health_alarm") != "0" {
				t.Errorf("a repair of what is there answers %s, alarm %s", got, b.infoField("health_alarm"))
			}
			if got := b.Line("FILTER.REPAIR " + key + " a b c"); got != "[false true true]" {
				t.Errorf("FILTER.REPAIR answers %s, want [false true true]", got)
			}
			if got := b.Line(f + ".MEXISTS " + key + " a b c d"); got != "[true true true false]" {
				t.Errorf("after the repair: %s", got)
			}
			if f == "CF" {
				if got := b.Line("CF.COUNT cf a"); got != ":1" {
					t.Errorf("an item that was there is there %s times", got)
				}
			}
			r, _ := b.Engine.Health().Report(b.watched(key))
			if r.Repaired != 2 || b.infoField("health_repaired") != "2" || b.infoField("health_alarm") != "1" {
				t.Errorf("%d repaired, INFO %s, alarm %s", r.Repaired, b.infoField("health_repaired"), b.infoField("health_alarm"))
			}
			many := "FILTER.REPAIR " + key
			for i := range 1000 {
				many += fmt.Sprint(" item-", i)
			}
			if got := strings.Count(b.Line(many), "true"); got < 950 {
				t.Errorf("%d of 1,000 items were added", got)
			}
		})
	}
}

// TestFilterHealth lists filters, ill ones first.
func TestFilterHealth(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("SET string 1")
	for i := range 20 {
		b.Line(fmt.Sprintf("BF.RESERVE well:%02d 0.01 1000", i))
	}
	b.Line("FILTER.CREATE full cuckoo CAPACITY 94")
	for i := range 95 {
		b.Line(fmt.Sprint("FILTER.ADD full ", i))
	}
	for _, watched := range []bool{false, true} {
		if watched {
			b.Watch(40 * time.Second)
		}
		r := b.Exec([][]byte{[]byte("FILTER.HEALTH")})[0]
		if len(r.Elems) != 21 {
			t.Fatalf("%d filters, want 21", len(r.Elems))
		}
		want := `["key" "full" "kind" "cuckoo" "verdict" "Resize" "reason" "It holds 95 items, more than the 94 it was made for." ` +
			`"command" "FILTER.REBUILD full BEGIN CAPACITY 150 ERROR 0.01"]`
		if got := commandtest.Show(r.Elems[0]); got != want {
			t.Errorf("watched %v: the first is\n%s\nwant\n%s", watched, got, want)
		}
		if got := commandtest.Show(r.Elems[1]); !strings.HasPrefix(got, `["key" "well:00" "kind" "bf" "verdict" "OK"`) {
			t.Errorf("watched %v: the second is %s", watched, got)
		}
	}
	for line, want := range map[string]int{
		"FILTER.HEALTH MATCH well:0*":         10,
		"FILTER.HEALTH COUNT 5":               5,
		"FILTER.HEALTH COUNT 3 MATCH well:1*": 3,
		"FILTER.HEALTH MATCH nothing":         0,
		"FILTER.HEALTH MATCH string":          0,
	} {
		if r := b.Exec(commandtest.Fields(line))[0]; r.Kind != answer.Array || len(r.Elems) != want {
			t.Errorf("%s: %d filters, want %d", line, len(r.Elems), want)
		}
	}
}

func TestHealthCommandErrors(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("SET s 1")
	b.Line("BF.ADD b x")
	for line, want := range map[string]string{
		"FILTER.FALSE nokey a":              "-ERR not found",
		"FILTER.FALSE s a":                  "-WRONGTYPE Operation against a key holding the wrong kind of value",
		"FILTER.FALSE b":                    "-ERR wrong number of arguments for 'filter.false' command",
		"FILTER.REPAIR nokey a":             "-ERR not found",
		"FILTER.REPAIR s a":                 "-WRONGTYPE Operation against a key holding the wrong kind of value",
		"FILTER.HEALTH COUNT 0":             "-ERR COUNT must be a whole number from 1 to 100000",
		"FILTER.HEALTH COUNT 100001":        "-ERR COUNT must be a whole number from 1 to 100000",
		"FILTER.HEALTH COUNT x":             "-ERR COUNT must be a whole number from 1 to 100000",
		"FILTER.HEALTH COUNT":               "-ERR syntax error",
		"FILTER.HEALTH BOUNT 1":             "-ERR syntax error",
		"FILTER.HEALTH COUNT 1 MATCH x y z": "-ERR wrong number of arguments for 'filter.health' command",
	} {
		if got := b.Line(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got := b.Line("EXISTS nokey"); got != ":0" {
		t.Errorf("a repair has made a key: %s", got)
	}
}

// TestRepairInATransaction runs the commands between MULTI and EXEC.
func TestRepairInATransaction(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("BF.ADD bf a")
	b.Line("MULTI")
	b.Line("FILTER.REPAIR bf a b")
	b.Line("FILTER.FALSE bf a b c")
	b.Line("BF.MEXISTS bf a b c")
	if got := b.Line("EXEC"); got != "[[false true] [true true false] [true true false]]" {
		t.Errorf("EXEC answers %s", got)
	}
}

// fieldsOf returns the fields of FILTER.INFO.
func (b *bench) fieldsOf(t *testing.T, key string) map[string]answer.Reply {
	t.Helper()
	r := b.Exec(commandtest.Fields("FILTER.INFO " + key))[0]
	if r.Kind != answer.Map {
		t.Fatalf("FILTER.INFO %s answers %s", key, commandtest.Show(r))
	}
	fields := map[string]answer.Reply{}
	for i := 0; i < len(r.Elems); i += 2 {
		fields[r.Elems[i].Text] = r.Elems[i+1]
	}
	return fields
}

// TestInfoShowsWhatWasMeasured fills filters of every kind that can be filled, asks
// them, reports, and looks at every field.
func TestInfoShowsWhatWasMeasured(t *testing.T) {
	b := newBench(t, 1<<30)
	type asked struct{ key, add, has string }
	list := []asked{{"bf", "BF.MADD", "BF.MEXISTS"}, {"cf", "", "CF.MEXISTS"}}
	b.Line("BF.RESERVE bf 0.01 1000")
	b.Line("CF.RESERVE cf 1000")
	b.fillCF("cf", 100)
	for _, k := range codec.Kinds() {
		if k.New == nil {
			continue
		}
		create := "FILTER.CREATE " + k.Name + " " + k.Name + " CAPACITY 1000 ERROR 0.01 PARTS 2"
		if k.Name == "window" {
			create += " SPAN 1h GENERATIONS 3"
		}
		if got := b.Line(create); got != "+OK" {
			t.Fatalf("%s: %s", create, got)
		}
		list = append(list, asked{k.Name, "FILTER.ADD", "FILTER.HAS"})
	}
	b.Watch(2 * time.Second)
	for _, f := range list {
		if f.add != "" {
			line := f.add + " " + f.key
			for i := range 100 {
				line += fmt.Sprint(" item-", i)
			}
			b.Line(line)
		}
		b.Line(f.has + " " + f.key + " item-1 item-2 other-1 other-2 other-3")
		b.Line("FILTER.FALSE " + f.key + " item-1")
	}
	b.Watch(5 * time.Minute)
	for _, f := range list {
		got := b.fieldsOf(t, f.key)
		for name, want := range map[string]string{
			"false_reported": ":1", "repaired": ":0", "alarm": ":0", "anomaly": `""`, "has_calls": ":1",
			"verdict": `"OK"`, "reason": `"All measurements are within their limits."`, "command": `""`, "probed_state": `"measured"`,
		} {
			if commandtest.Show(got[name]) != want {
				t.Errorf("%s: %s is %s, want %s", f.key, name, commandtest.Show(got[name]), want)
			}
		}
		for _, name := range []string{
			"kind", "asked", "predicted", "predicted_sigma", "probed", "probed_low", "probed_high", "probes", "traffic", "traffic_low", "traffic_high",
			"traffic_state", "saturation", "skew", "items", "capacity", "bytes", "negatives", "add_p50_us", "has_p99_us", "has_p999_us", "calls", "measured_seconds",
		} {
			if r, ok := got[name]; !ok || r.Kind == answer.None || r.Kind == answer.Null {
				t.Errorf("%s: %s is %s", f.key, name, commandtest.Show(r))
			}
		}
		if n := got["negatives"].N; n < 1 || n > 3 {
			t.Errorf("%s: %d negative answers, want 3, or less by false positives", f.key, n)
		}
		adds, lookups := got["add_calls"].N, got["has_calls"].N
		if got["calls"].N != adds+lookups && f.add != "" { // the adds of the others are long ago, and count no more in add_calls
			t.Errorf("%s: %d calls, want %d adds and %d lookups", f.key, got["calls"].N, adds, lookups)
		}
		if saved := got["saved"]; got["lookups"].N != 5 || math.Abs(math.Float64frombits(uint64(saved.N))-float64(got["negatives"].N)/5) > 1e-9 {
			t.Errorf("%s: %d lookups saved %s, with %d negative answers", f.key, got["lookups"].N, commandtest.Show(saved), got["negatives"].N)
		}
		if got["probes"].N < 1024 {
			t.Errorf("%s: %d probes", f.key, got["probes"].N)
		}
	}
	if got := b.Line("FILTER.INFO bf JSON"); !strings.Contains(got, `\"history\":[{\"at\":`) {
		t.Errorf("FILTER.INFO bf JSON has no history: %s", got)
	}
}

// TestInfoOfTooFewProbes asks for a rate that no number of probes can measure.
func TestInfoOfTooFewProbes(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f standard CAPACITY 1000 ERROR 0.0000001")
	b.Watch(time.Minute)
	got := b.fieldsOf(t, "f")
	if commandtest.Show(got["probed_state"]) != `"too few probes"` || commandtest.Show(got["traffic_state"]) != `"too few lookups of absent keys"` {
		t.Errorf("probed: %s, traffic: %s", commandtest.Show(got["probed_state"]), commandtest.Show(got["traffic_state"]))
	}
}

// TestRepairOfFilters repairs filters of kinds that add, insert and never change.
func TestRepairOfFilters(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, kind := range []string{"bloom", "counting PARTS 4", "growing", "quotient"} {
		key := strings.Fields(kind)[0]
		b.Line("FILTER.CREATE " + key + " " + kind)
		b.Line("FILTER.ADD " + key + " a")
		if got := b.Line("FILTER.REPAIR " + key + " a b"); got != "[false true]" {
			t.Errorf("%s: FILTER.REPAIR answers %s", kind, got)
		}
		if key != "bloom" {
			if got := b.Line("FILTER.COUNT " + key + " a b"); got != "[:1 :1]" {
				t.Errorf("%s: counts %s after the repair, want one each", kind, got)
			}
		}
		if got := b.fieldsOf(t, key); got["repaired"].N != 1 || got["alarm"].N != 1 {
			t.Errorf("%s: repaired %s, alarm %s", kind, commandtest.Show(got["repaired"]), commandtest.Show(got["alarm"]))
		}
	}
}

// TestClearStartsTheMeasuresAgain empties a filter in use: what it has answered before
// counts no more, and what it answers right after does.
func TestClearStartsTheMeasuresAgain(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000 PARTS 2")
	ask := func(want string) {
		t.Helper()
		b.Line("FILTER.ADD f a b c")
		b.Line("FILTER.HAS f a b c d")
		b.Line("FILTER.FALSE f a")
		got := b.fieldsOf(t, "f")
		if s := fmt.Sprint(commandtest.Show(got["lookups"]), commandtest.Show(got["negatives"]), commandtest.Show(got["false_reported"])); s != want {
			t.Errorf("lookups, negatives and false reports: %s, want %s", s, want)
		}
	}
	ask(":4:1:1")
	b.Watch(2 * time.Minute)
	ask(":8:2:2")
	b.Line("FILTER.HAS f x y")
	b.OK(t, "FILTER.CLEAR f")
	if got := b.fieldsOf(t, "f"); commandtest.Show(got["lookups"]) != ":0" || commandtest.Show(got["saved"]) != "nil" || got["probes"].N < 1024 {
		t.Errorf("%s lookups, %s saved, %s probes after FILTER.CLEAR", commandtest.Show(got["lookups"]), commandtest.Show(got["saved"]), commandtest.Show(got["probes"]))
	}
	b.OK(t, "FILTER.CLEAR f")
	ask(":4:1:1")
}
