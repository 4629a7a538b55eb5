package teach

// The text of each step.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/sizing"
)

// text describes a step: what the key has, what was found there, and what
// follows. old are the values before it.
func (r *run) text(v Step, a Action, p place, old []int) string {
	if s, ok := r.machine.(teller); ok {
		return s.tell(v)
	}
	switch v.Do {
	case "fill":
		return r.filledText(v.Verdict, a.N)
	case "advance":
		return r.advancedText(v)
	case "report":
		return r.reportedText(v)
	}
	first := fmt.Sprintf("“%s” has %s. ", v.Key, r.places(p.cells))
	if why := r.why(v.Key); why != "" {
		first = fmt.Sprintf("“%s”: %s. It has %s. ", v.Key, why, r.name(p.cells))
	}
	if p.mark != 0 {
		first = fmt.Sprintf("“%s” has the fingerprint %02x and the %s. ", v.Key, p.mark, bucketsOf(p.cells))
	}
	switch v.Verdict {
	case Filled, Advanced, Listed, Reported, TooLate: // told above
	case Inserted, Unchanged, Full:
		if r.takesBack(v.Key) {
			return first + r.foundText(p) + fmt.Sprintf("a report alone denied “%s”, and it is taken back.", v.Key)
		}
		return first + r.insertedText(v, p, old)
	case Deleted:
		return first + r.deletedText(v, p)
	case NotThere:
		return first + r.zeroText(p, old) + "nothing is deleted."
	case Absent:
		if c, ok := r.machine.(*corrections); ok && c.denies(v.Key) {
			return first + r.foundText(p) + fmt.Sprintf("the array alone would say yes. But “%s” was reported as a false positive, so the answer is no.", v.Key)
		}
		return first + r.zeroText(p, old) + fmt.Sprintf("“%s” is certainly absent.%s", v.Key, r.unread(p, old))
	case Present:
		return first + r.foundText(p) + fmt.Sprintf("“%s” is probably present, and it was inserted.", v.Key)
	case FalsePositive:
		return first + r.foundText(p) + fmt.Sprintf("“%s” is probably present, the filter reports. But it was not inserted: this is a false positive.%s", v.Key, r.blame(p, old))
	case FalseNegative:
		return first + r.zeroText(p, old) + fmt.Sprintf("“%s” is reported as absent, but it was inserted: a false negative. A key that was not there has been deleted.", v.Key)
	}
	return first
}

// places names all cells of a key. In a window they are the same in every
// generation.
func (r *run) places(cells []int) string {
	all := chains(r.machine, cells)
	if _, ok := r.machine.(ager); !ok || len(all) < 2 {
		return r.name(cells)
	}
	same, _, _ := strings.Cut(r.name(all[0]), " of ")
	return same + " of every generation"
}

// why returns how positions follow from a key in a lesson with a rule.
func (r *run) why(key string) string {
	if g, ok := r.machine.(*given); ok {
		return g.word(key).Why
	}
	return ""
}

func (r *run) filledText(v Verdict, n int) string {
	last := r.filled
	text := fmt.Sprintf("%s are added, “key %d” to “key %d”.", count(n, "key"), last-n+1, last)
	if v == Full {
		text = fmt.Sprintf("Keys are added up to “key %d”, which finds no room: the filter is full.", last)
	}
	return text
}

func (r *run) advancedText(v Step) string {
	if len(v.Changes) == 0 {
		return "Time moves on, and a new generation begins. The one that it replaces was empty."
	}
	return fmt.Sprintf("Time moves on, and a new generation begins in place of the oldest, which is cleared: %s become 0, and its keys are forgotten.",
		count(len(v.Changes), r.scene.Cell))
}

// insertedText is the rest of the sentence for a key that was added, or was not.
func (r *run) insertedText(v Step, p place, old []int) string {
	noun := r.scene.Cell
	if noun == "slot" {
		return r.movedText(v)
	}
	if noun == "counter" && v.Verdict == Full {
		return "All of them count as many keys as they can: the insertion fails, and nothing changes."
	}
	if noun == "counter" {
		return "It adds 1 to each of them."
	}
	var was, is []int
	for _, i := range p.cells {
		if i < len(old) && old[i] != 0 {
			was = append(was, i)
		} else {
			is = append(is, i)
		}
	}
	switch {
	case len(is) == 0 && len(was) == 1:
		return "It was set already: nothing changes."
	case len(is) == 0:
		return "All of them were set already: nothing changes."
	case len(was) == 0 && len(is) == 1:
		return "It was 0 and is now 1."
	case len(was) == 0:
		return "All of them were 0 and are now 1."
	}
	return fmt.Sprintf("It sets %s.%s", r.name(is), r.shared(was))
}

// shared names the keys that had set bits before.
func (r *run) shared(cells []int) string {
	var by []string
	for _, i := range cells {
		for _, key := range r.ownersOf(i) {
			if !slices.Contains(by, key) {
				by = append(by, key)
			}
		}
	}
	return fmt.Sprintf(" %s %s already set, by %s.", capital(r.name(cells)), plural(len(cells), "was", "were"), quoted(by))
}

// movedText is insertedText for a cuckoo filter.
func (r *run) movedText(v Step) string {
	switch n := len(v.Changes); {
	case v.Verdict == Full:
		return "Both are full, and no fingerprint can move to make room: the insertion fails, and nothing changes."
	case n == 1:
		return fmt.Sprintf("It is put into bucket %d.", v.Changes[0][0]/sizing.CuckooSlots)
	case n == 0:
		return ""
	default:
		return fmt.Sprintf("Both are full: %s %s to the other bucket to make room.", count(n-1, "fingerprint"), plural(n-1, "moves", "move"))
	}
}

func (r *run) deletedText(v Step, p place) string {
	if r.scene.Cell == "slot" {
		return fmt.Sprintf("One slot with %02x is cleared.", p.mark)
	}
	if len(v.Changes) == 0 {
		return "All of them have counted as many keys as they can, perhaps more, so they stay as they are."
	}
	zero := 0
	for _, c := range v.Changes {
		if c[1] == 0 {
			zero++
		}
	}
	switch zero {
	case 0:
		return "It takes 1 from each of them. None comes to 0: other keys have set them, too."
	case len(p.cells):
		return "It takes 1 from each of them. All come to 0."
	}
	return fmt.Sprintf("It takes 1 from each of them. %s to 0; the others still count other keys.", capital(strconv.Itoa(zero)+plural(zero, " comes", " come")))
}

// zeroText says what shows that a key is absent: a cell of it that is 0, and one
// in every layer or generation where there are several.
func (r *run) zeroText(p place, old []int) string {
	if p.mark != 0 {
		return fmt.Sprintf("Neither bucket holds %02x: ", p.mark)
	}
	zero := []int{}
	all := chains(r.machine, p.cells)
	for _, chain := range all {
		if i := slices.IndexFunc(chain, func(c int) bool { return c >= len(old) || old[c] == 0 }); i >= 0 {
			zero = append(zero, chain[i])
		}
	}
	if len(zero) == 0 {
		return ""
	}
	if len(all) > 1 {
		part := "layer"
		switch r.machine.(type) {
		case ager:
			part = "generation"
		case *beside:
			part = "filter"
		}
		return fmt.Sprintf("In every %s at least one of them is 0: ", part)
	}
	return fmt.Sprintf("%s is 0: ", capital(r.name(zero)))
}

// unread says of a lesson that the bits behind the first 0 say nothing more.
func (r *run) unread(p place, old []int) string {
	g, ok := r.machine.(*given)
	if !ok || g.rule != nil {
		return ""
	}
	i := slices.IndexFunc(p.cells, func(c int) bool { return old[c] == 0 })
	if i < 0 || i == len(p.cells)-1 {
		return ""
	}
	return " The others need not be looked at."
}

// foundText says what speaks for a key.
func (r *run) foundText(p place) string {
	if p.mark != 0 {
		return fmt.Sprintf("One of them holds %02x: ", p.mark)
	}
	where := r.found(p, r.values)
	if len(where) < len(p.cells) {
		return capital(r.name(where)) + plural(len(where), " is", " are all") + " set: "
	}
	switch len(p.cells) {
	case 1:
		return "It is set: "
	case 2:
		return "Both are set: "
	}
	return "All of them are set: "
}

// found returns the cells of a key that are all set.
func (r *run) found(p place, values []int) []int {
	for _, chain := range chains(r.machine, p.cells) {
		if !slices.ContainsFunc(chain, func(c int) bool { return c >= len(values) || values[c] == 0 }) {
			return chain
		}
	}
	return p.cells
}

// blame names the keys that make a false positive.
func (r *run) blame(p place, values []int) string {
	var parts []string
	for _, i := range r.found(p, values) {
		if by := r.ownersOf(i); len(by) > 0 {
			if p.mark != 0 {
				return fmt.Sprintf(" The fingerprint is that of %s.", quoted(by))
			}
			parts = append(parts, fmt.Sprintf("%s %d was set by %s", r.scene.Cell, r.inPanel(i), quoted(by)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + capital(strings.Join(parts, ", ")) + "."
}

// inPanel is the number of a cell in its panel.
func (r *run) inPanel(cell int) int {
	for _, p := range r.panels() {
		if cell < p.First+p.Cells {
			return cell - p.First
		}
	}
	return cell
}

// name names cells: "bits 2 and 9", or "bits 5 and 70 of block 2".
func (r *run) name(cells []int) string {
	if len(cells) == 0 {
		return "no " + r.scene.Cell + "s"
	}
	panels := r.panels()
	var parts []string
	for _, p := range panels {
		var in []string
		for _, c := range p.within(cells) {
			in = append(in, strconv.Itoa(c-p.First))
		}
		if len(in) == 0 {
			continue
		}
		part := plural(len(in), r.scene.Cell, r.scene.Cell+"s") + " " + list(in)
		if len(panels) > 1 {
			short, _, _ := strings.Cut(p.Name, ",")
			part += " of " + short
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func bucketsOf(cells []int) string {
	var in []string
	for _, c := range cells {
		if b := strconv.Itoa(c / sizing.CuckooSlots); !slices.Contains(in, b) {
			in = append(in, b)
		}
	}
	return plural(len(in), "bucket ", "buckets ") + list(in)
}

// list joins words: "a", "a and b", "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// quoted lists keys, the first few of many.
func quoted(keys []string) string {
	const most = 3
	var all []string
	for _, k := range keys[:min(len(keys), most)] {
		all = append(all, "“"+k+"”")
	}
	if n := len(keys) - most; n > 0 {
		all = append(all, strconv.Itoa(n)+plural(n, " other", " others"))
	}
	return list(all)
}

func count(n int, noun string) string { return number(n) + " " + plural(n, noun, noun+"s") }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// number writes 12,345.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// capital makes the first letter of a sentence large.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
