package clienttest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// query is what a PromQL expression uses.
type query struct {
	metrics []string
	labels  []string
}

var token = regexp.MustCompile(`\s+|"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?(?:ms|[smhdwy])?|[a-zA-Z_:][a-zA-Z0-9_:]*|=~|!~|!=|==|>=|<=|[-+*/%^><=(){}\[\],]`)

var (
	operators = []string{"and", "or", "unless", "bool", "offset"}
	grouping  = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
	functions = []string{
		"sum", "max", "min", "avg", "count", "topk", "rate", "increase", "time", "clamp_min", "histogram_quantile",
	}
	closing = map[string]string{"(": ")", "{": "}", "[": "]"}
)

// parseQuery reads an expression as far as our own use PromQL: it finds metrics and
// labels, unknown functions, text that is no PromQL, and brackets that are not closed.
func parseQuery(expr string) (q query, err error) {
	var tokens []string
	for rest := expr; rest != ""; {
		at := token.FindStringIndex(rest)
		if at == nil || at[0] != 0 {
			return q, fmt.Errorf("no PromQL at %q", rest)
		}
		if t := rest[:at[1]]; strings.TrimSpace(t) != "" {
			tokens = append(tokens, t)
		}
		rest = rest[at[1]:]
	}
	var open []string // the brackets that are open, as what closes them
	labels := 0       // how many brackets were open where names are labels, 0 for nowhere
	for i, t := range tokens {
		next := ""
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		switch c := t[0]; {
		case closing[t] != "":
			open = append(open, closing[t])
			if t == "{" || t == "(" && i > 0 && slices.Contains(grouping, tokens[i-1]) {
				labels = len(open)
			}
		case t == ")" || t == "}" || t == "]":
			if len(open) == 0 || open[len(open)-1] != t {
				return q, fmt.Errorf("%q closes nothing", t)
			}
			if labels == len(open) {
				labels = 0
			}
			open = open[:len(open)-1]
		case c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z'):
		case labels > 0:
			q.labels = append(q.labels, t)
		case slices.Contains(operators, t) || slices.Contains(grouping, t):
		case next == "(" || slices.Contains(grouping, next) && next != "on":
			if !slices.Contains(functions, t) {
				return q, fmt.Errorf("no function %q", t)
			}
		default:
			q.metrics = append(q.metrics, t)
		}
	}
	if len(open) > 0 {
		return q, errors.New("a bracket is not closed")
	}
	if len(q.metrics) == 0 {
		return q, errors.New("no metric")
	}
	return q, nil
}

func TestParseQuery(t *testing.T) {
	q, err := parseQuery(`sum by (cmd, le) (rate(a_total{job="x",b=~"}("}[5m])) / on (c) clamp_min(d, 1.5) > 0 and time() - e > 3600`)
	if got, want := fmt.Sprint(q.metrics, q.labels), "[a_total d e] [cmd le job b c]"; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	for _, bad := range []string{"", "1 + 1", "rate(a[5m]", "a)", "sum(a}", "nothing(a)", "a ? b", `a{b="c}`, "a $ b"} {
		if q, err := parseQuery(bad); err == nil {
			t.Errorf("%q is read as %v", bad, q)
		}
	}
}

// check reports what is wrong with an expression, given the metrics that there are.
func (q query) check(metrics map[string][]string) error {
	var known []string
	for _, name := range q.metrics {
		if name == "up" {
			known = append(known, "instance", "job")
			continue
		}
		labels, there := metrics[name]
		if !there {
			return fmt.Errorf("no scrape has %s", name)
		}
		known = append(known, labels...)
	}
	for _, label := range q.labels {
		if !slices.Contains(known, label) {
			return fmt.Errorf("none of its metrics has the label %s", label)
		}
	}
	return nil
}
