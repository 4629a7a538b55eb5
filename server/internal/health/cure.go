package health

// Diagnosis: a verdict with its reason and the command that helps.

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/server/internal/status"
)

// Diagnosis is a verdict with its reason in one sentence and the command that
// cures it. The command is empty for OK.
type Diagnosis struct {
	Verdict Verdict
	Reason  string
	command string
	can     status.Abilities
}

// well is the diagnosis of a filter that needs nothing. For one that is nearly full, the
// reason says what more items do.
func (e *evidence) well() Diagnosis {
	reason := "All measurements are within their limits"
	if t := traitsOf(e.Kind); t.symptoms.has(outgrown) && !e.Grows && share(float64(e.Items), fullShare*float64(e.Capacity)) > 1 {
		next := "raise its rate over " + percent(e.Asked)
		if t.refuses {
			next = "may be refused"
		}
		reason += fmt.Sprintf("; it holds %s of the %s items it was made for, and more items %s", e.items(), grouped(e.Capacity), next)
	}
	return Diagnosis{Verdict: OK, Reason: reason + "."}
}

// In a command key stands for the name of the filter, and newKey for the id of a secret
// key that it does not have yet.
const (
	key    = "\x00"
	newKey = "\x01"
)

// Command returns the command for a filter of a name. If it needs a secret key, id
// returns that of one which the filter may have, "" if there is none.
func (d Diagnosis) Command(name string, id func() string) string {
	command := strings.ReplaceAll(d.command, key, quote(name))
	if !strings.Contains(command, newKey) {
		return command
	}
	if len(d.can.KeyIDs()) > 0 {
		if v := id(); v != "" {
			return strings.ReplaceAll(command, newKey, quote(v))
		}
	}
	return strings.ReplaceAll(command, newKey, "<id>") + ", with a line <id> = <32 hexadecimal digits> in the file of serve --keys"
}

// quote writes a name as redis-cli reads it: in quotes if it has to be.
func quote(name string) string {
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\'
	})
	if plain {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// diagnose puts a symptom into words.
func (e *evidence) diagnose(s symptom) Diagnosis {
	return Diagnosis{verdictOf[s], e.reason(s), e.cure(s), e.Can}
}

func (e *evidence) reason(s symptom) string {
	switch s {
	case overRate:
		return fmt.Sprintf("The predicted false positive rate is %s, more than the %s asked for; it holds %s items and was made for %s.",
			percent(e.Predicted), percent(e.Asked), e.items(), grouped(e.Capacity))
	case skewed:
		return fmt.Sprintf("Its keys are aimed at one place: chance fills a block so much with probability 10^-%.0f.", e.Skew)
	case deleted:
		return fmt.Sprintf("%s of its items were reported as deleted, and it cannot remove them: %s of %s.",
			percent(float64(e.Gone)/float64(e.Items)), grouped(e.Gone), e.items())
	case outgrown:
		if e.Items <= e.Capacity {
			return fmt.Sprintf("It holds %s items, over 90%% of the %s it was made for, and it is still filling.", e.items(), grouped(e.Capacity))
		}
		return fmt.Sprintf("It holds %s items, more than the %s it was made for.", e.items(), grouped(e.Capacity))
	case fillingUp:
		left := float64(e.Capacity) - float64(e.Items)
		in := time.Duration(left / e.pace * float64(time.Second))
		return fmt.Sprintf("At %s items a second it is full, with %s items, in %s.", paced(e.pace), grouped(e.Capacity), ahead(in))
	case slow:
		what, worst := e.slowest()
		text := fmt.Sprintf("The 99th percentile of %s is %v, over its SLA of %v", what, worst.P99, e.SLA)
		if worst.waits() {
			text += fmt.Sprintf(", and calls wait for other nodes, %v on average", worst.Waited.Round(time.Microsecond))
		}
		return text + "."
	case wrongKind:
		return fmt.Sprintf("For the work seen, %s takes %.1f times less %s by the model of sizing.", e.better.kind, e.better.gain, e.better.what)
	case overBudget:
		return fmt.Sprintf("It takes %s bytes, over its budget of %s.", grouped(e.Bytes), grouped(e.Budget))
	default:
		return fmt.Sprintf("It has been less than 10%% full for a day; now it is %s full.", percent(e.Saturation))
	}
}

// slowest returns which calls are slower, and how slow they are.
func (e *evidence) slowest() (what string, worst Latency) {
	what, worst = "add", e.latency[timing(Add)]
	if has := e.latency[timing(Has)]; worst.Calls < leastTimed || has.Calls >= leastTimed && has.P99 > worst.P99 {
		what, worst = "has", has
	}
	return what, worst
}

// waits reports whether most of the time of calls is a wait for other machines: then another filter is as slow.
func (l *Latency) waits() bool { return 2*l.Waited > l.P50 }

func (e *evidence) items() string {
	if e.Items == math.MaxUint64 {
		return "an unknown number of"
	}
	return grouped(e.Items)
}

// foldShare is the share of its capacity up to which a filter can be folded and is
// well then: half of it would be nearly full.
const foldShare = 0.4

// cure returns the command against a symptom.
func (e *evidence) cure(s symptom) string {
	if e.Kind == "bf" || e.Kind == "cf" {
		return e.foreignCure(s)
	}
	t := traitsOf(e.Kind)
	if _, worst := e.slowest(); s == slow && worst.waits() {
		return "INFO cluster" // its trips say which node is slow
	}
	if s == slow && (e.Kind == "bloom" || t.given) {
		return "SLOWLOG GET 10" // no kind is faster: look which calls take long
	}
	if t.given || !e.Can.Rebuilds() && !t.symptoms.has(overRate) && s != slow && s != wrongKind { // it is not made here
		return "FILTER.LOAD " + key + " 1 <file of bloomery build --kind " + e.Kind + ">"
	}
	switch s {
	case overRate:
		return e.remade(remake{capacity: e.roomy(), rate: e.Asked})
	case skewed:
		if e.Kind == "quorum" { // its hashes are its own: it takes no key
			return e.remade(remake{kind: "bloom", key: newKey})
		}
		return e.remade(remake{key: newKey})
	case deleted:
		return e.remade(remake{})
	case outgrown, fillingUp:
		if t.layers && !e.Sourced {
			return "FILTER.GROW " + key
		}
		return e.remade(remake{capacity: e.roomy(), rate: e.Asked})
	case slow:
		return e.remade(remake{kind: "bloom"})
	case wrongKind:
		return e.remade(remake{kind: e.better.kind})
	}
	if e.Folds && float64(e.Items) <= foldShare*float64(e.Capacity) && !(e.Kind == "split" && e.Can.Cluster) { // no cluster folds those yet
		return "FILTER.FOLD " + key
	}
	if s == overBudget {
		return e.remade(remake{rate: e.affordable()})
	}
	return e.remade(remake{capacity: roomFor(e.Items)})
}

// Advice returns what a filter like this can be advised: a diagnosis for each symptom that its kind can have.
func (l Look) Advice() (list []Diagnosis) {
	e := evidence{Look: l, better: advice{kind: "bloom"}}
	for s := range symptoms {
		if traitsOf(l.Kind).symptoms.has(s) && !(l.Grows && verdictOf[s] == Resize) && !(l.Sourced && s == wrongKind) {
			list = append(list, e.diagnose(s))
		}
	}
	return list
}

// remake is how a filter is to be made anew. What is not set stays as it is.
type remake struct {
	kind, key string
	capacity  uint64
	rate      float64
}

// remade returns the command that makes a filter anew: a rebuild, or where that is
// refused a new filter that takes the name of the old one.
func (e *evidence) remade(m remake) string {
	if e.Sourced {
		return e.resourced(m)
	}
	begin, end, keyed := "FILTER.REBUILD "+key+" BEGIN", "", " NEWKEY "
	if !e.Can.Rebuilds() {
		m.kind, m.capacity, m.rate = cmp.Or(m.kind, e.Kind), cmp.Or(m.capacity, e.roomy()), cmp.Or(m.rate, e.Asked)
		begin, end, keyed = "FILTER.CREATE <new key>", ", then FILTER.ADD every item and RENAME <new key> "+key, " KEYED "
	}
	if m.kind != "" {
		begin += " " + m.kind
	}
	if m.capacity > 0 {
		begin += " CAPACITY " + strconv.FormatUint(m.capacity, 10)
	}
	if m.rate > 0 {
		begin += " ERROR " + number(m.rate)
	}
	if m.key != "" {
		begin += keyed + m.key
	}
	return begin + end
}

// resourced returns the command that makes a filter anew that is the union of its sources: they
// are made anew. A rebuild would drop them.
func (e *evidence) resourced(m remake) string {
	if m == (remake{}) {
		return "FILTER.LOAD " + key + " 1 <file of the source> FROM <source> VERSION <a later one>, for every source"
	}
	file := "<file of the source, of kind " + cmp.Or(m.kind, e.Kind) + " for " + strconv.FormatUint(cmp.Or(m.capacity, e.roomy()), 10) +
		" items at " + number(cmp.Or(m.rate, e.Asked))
	if m.key != "" {
		file += " with the secret key " + m.key
	}
	return "FILTER.LOAD <new key> 1 " + file + "> FROM <source> VERSION <version>, for every source, then FILTER.ADD what was added and RENAME <new key> " + key
}

// foreignCure returns the command for a BF or a CF. They have no rebuild: a new
// filter is filled and takes the name of the old one.
func (e *evidence) foreignCure(s symptom) string {
	if _, worst := e.slowest(); s == slow && worst.waits() {
		return "INFO cluster"
	}
	if s == slow {
		return "SLOWLOG GET 10"
	}
	if e.Kind == "cf" && e.Layers > 1 && verdictOf[s] == Compress {
		return "CF.COMPACT " + key
	}
	n := strconv.FormatUint(roomFor(e.Items), 10)
	if e.Kind == "cf" {
		return "CF.RESERVE <new key> " + n + ", then CF.ADD every item and RENAME <new key> " + key
	}
	rate := e.Asked
	if e.Grows {
		rate /= 2 // what BF.RESERVE calls the error rate is that of the first layer
	}
	if s == overBudget {
		rate = e.affordable()
	}
	return "BF.RESERVE <new key> " + number(rate) + " " + n + ", then BF.MADD every item and RENAME <new key> " + key
}

// roomy returns the capacity with room for half as many items again.
func (e *evidence) roomy() uint64 { return max(roomFor(e.Items), e.Capacity) }

// roomFor returns one and a half times n, rounded up to two digits. An unknown
// number has the room of a million.
func roomFor(n uint64) uint64 {
	if n == math.MaxUint64 || n > math.MaxUint64/4 {
		n = 1_000_000
	}
	n = max(n+n/2, 100)
	unit := uint64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit - 1) / unit * unit
}

// affordable returns the false positive rate at which the items fit into the
// budget. By the textbook a rate of p takes 1.44 log2(1/p) bits an item; it takes as
// many times more as the filter does now.
func (e *evidence) affordable() float64 {
	keys := float64(max(e.Items, e.Capacity, 1))
	textbook := math.Log(1/e.Asked) / (math.Ln2 * math.Ln2)
	more := float64(e.Bytes) * 8 / keys / textbook
	bits := float64(e.Budget) * 8 / keys
	if more > 1 { // not so for a rate that is not known
		bits /= more
	}
	p := math.Exp(-bits * math.Ln2 * math.Ln2)
	return min(max(p, e.Asked), 0.5)
}

// number writes a rate as a command takes it, rounded up to two digits.
func number(p float64) string {
	if p <= 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(p))-1)
	x, err := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(p/unit-1e-9)*unit, 'g', 2, 64), 64)
	if err != nil {
		return "0"
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// percent writes a share with three significant digits and no exponent.
func percent(p float64) string {
	x, err := strconv.ParseFloat(strconv.FormatFloat(100*p, 'g', 3, 64), 64)
	if err != nil {
		return "?"
	}
	return strconv.FormatFloat(x, 'f', -1, 64) + "%"
}

// ahead writes a time to come: 19 minutes, 5 hours.
func ahead(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return "a minute"
	case d < 2*time.Hour:
		return strconv.Itoa(int(math.Round(d.Minutes()))) + " minutes"
	}
	return strconv.Itoa(int(math.Round(d.Hours()))) + " hours"
}

// paced writes items a second, with three significant digits and no exponent.
func paced(v float64) string {
	if v >= 999.5 {
		unit := math.Pow(10, math.Floor(math.Log10(v))-2)
		return grouped(uint64(math.Round(v/unit) * unit))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// grouped writes a number with commas: 1,000,000.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
