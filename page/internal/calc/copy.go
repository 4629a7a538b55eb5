package calc

// Snippets to copy: Go code and commands.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/internal/question"
	"github.com/bloomery/bloomery/sizing"
)

// Snippet is text to copy: a program or commands that run as they are.
type Snippet struct {
	ID    string `json:"id"` // go, redis or shell
	Title string `json:"title"`
	// Text is empty where there is nothing to copy; Note is why.
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
}

// recipe is how a kind is made.
type recipe struct {
	imports []string // beside fmt
	// build makes f from n keys, rate p and, where a Config can say so, the shape.
	build func(s sizes) string
	// insert is false for kinds that AddString, true for those that InsertString
	// with an error, and built holds for those that are built at once.
	insert, built bool
	server        string // its name on the server, "" if it is not there
	redisBloom    string // BF or CF, if RedisBloom has something alike
	file          bool   // bloomery build makes it
}

// sizes are the figures of a snippet, as source text.
type sizes struct {
	n, p  string
	shape sizing.Shape // if bits or hashes were given
	width int          // of a fuse filter
}

const module = "github.com/bloomery/bloomery/"

// made is for constructors that take n and p.
func made(call string) func(sizes) string {
	return func(s sizes) string { return fmt.Sprintf("f := %s(%s, %s)\n", call, s.n, s.p) }
}

// shaped is made for kinds whose Config takes the shape, too.
func shaped(call, method string) func(sizes) string {
	return func(s sizes) string {
		if s.shape.Bits == 0 {
			return made(call)(s)
		}
		return fmt.Sprintf("f, err := bloom.Config{Capacity: %s, Bits: %s, Hashes: %d}.%s()\n%s",
			s.n, underscored(s.shape.Bits), s.shape.K, method, onError)
	}
}

const onError = "if err != nil {\n\tlog.Fatal(err)\n}\n"

// hashes is for kinds that are built from all keys at once.
const hashes = "var h hashing.Hasher\nhashes := []uint64{h.HashString(\"apple\"), h.HashString(\"banana\")}\n"

var recipes = map[string]recipe{
	"bloom":       {imports: []string{"bloom"}, build: shaped("bloom.New", "New"), server: "bloom", redisBloom: "BF", file: true},
	"standard":    {imports: []string{"bloom"}, build: shaped("bloom.NewStandard", "NewStandard"), server: "standard", redisBloom: "BF", file: true},
	"partitioned": {imports: []string{"bloom"}, build: made("bloom.NewPartitioned"), server: "partitioned", file: true},
	"split":       {imports: []string{"bloom"}, build: made("bloom.NewSplit"), server: "split", file: true},
	"scalable":    {imports: []string{"bloom"}, build: made("bloom.NewScalable"), server: "scalable", redisBloom: "BF", file: true},
	"concurrent":  {imports: []string{"bloom"}, build: made("bloom.NewConcurrent")},
	"counting":    {imports: []string{"counting"}, build: made("counting.New"), insert: true, server: "counting", file: true},
	"spectral":    {imports: []string{"counting"}, build: made("counting.NewSpectral"), insert: true, server: "spectral", file: true},
	"stable":      {imports: []string{"counting"}, build: made("counting.NewStable"), insert: true, server: "stable", file: true},
	"cuckoo":      {imports: []string{"cuckoo"}, build: made("cuckoo.New"), insert: true, server: "cuckoo", redisBloom: "CF", file: true},
	"quotient":    {imports: []string{"quotient"}, build: made("quotient.New"), insert: true, server: "quotient", file: true},
	"growing":     {imports: []string{"quotient"}, build: made("quotient.NewGrowing"), insert: true, server: "growing", file: true},
	"window": {imports: []string{"compose"}, server: "window", build: func(s sizes) string {
		return fmt.Sprintf("f := compose.NewWindow(%s, %s, %d) // f.Advance(generation) lets time pass\n", s.n, s.p, sizing.WindowGenerations)
	}},
	"striped": {imports: []string{"", "compose", "cuckoo"}, insert: true, build: func(s sizes) string {
		return fmt.Sprintf("f, err := compose.StripedConfig{Capacity: %s, Make: func(n int) (bloomery.Hashed, error) {\n"+
			"\treturn cuckoo.Config{Capacity: n, ErrorRate: %s}.New()\n}}.New()\n%s", s.n, s.p, onError)
	}},
	"fuse": {imports: []string{"fuse", "hashing"}, built: true, server: "fuse", file: true, build: func(s sizes) string {
		return fmt.Sprintf("%sf, err := fuse.Build[uint%d](hashes)\n%s", hashes, s.width, onError)
	}},
	"ribbon": {imports: []string{"hashing", "ribbon"}, built: true, server: "ribbon", file: true, build: func(s sizes) string {
		return fmt.Sprintf("%sf, err := ribbon.Build(hashes, %s)\n%s", hashes, s.p, onError)
	}},
}

// snippets returns what to copy for a kind.
func (q *query) snippets(kind string, solved sizing.Params, filters []Candidate) []Snippet {
	r := recipes[kind]
	s := sizes{n: underscored(solved.N), p: plain(solved.P)}
	if q.given["m"] || q.given["bits"] || q.given["k"] {
		for _, f := range filters {
			if f.Name == kind && f.Error == "" {
				s.shape = f.shape
			}
		}
	}
	if size, err := sizing.FuseSize(0, solved.P, 3); err == nil {
		s.width = size.Width
	}
	return []Snippet{
		{ID: "go", Title: "Go", Text: r.program(s)},
		r.redis(kind, solved, s.width),
		r.shell(kind, q, solved),
	}
}

// nothing is there to copy, for a reason.
func nothing(reason string) []Snippet {
	return []Snippet{{ID: "go", Title: "Go", Note: reason}, {ID: "redis", Title: "redis-cli", Note: reason}, {ID: "shell", Title: "Command line", Note: reason}}
}

// program is a whole Go program.
func (r recipe) program(s sizes) string {
	body := r.build(s)
	switch {
	case r.built:
	case r.insert && strings.Contains(body, "err :="):
		body += "if err = f.InsertString(\"apple\"); err != nil {\n\tlog.Fatal(err)\n}\n"
	case r.insert:
		body += "if err := f.InsertString(\"apple\"); err != nil {\n\tlog.Fatal(err)\n}\n"
	default:
		body += "f.AddString(\"apple\")\n"
	}
	body += "fmt.Println(f.ContainsString(\"apple\")) // true\nfmt.Println(f.ContainsString(\"pear\"))  // false\n"
	std := "\t\"fmt\"\n"
	if strings.Contains(body, "log.") {
		std += "\t\"log\"\n"
	}
	var own strings.Builder
	for _, name := range r.imports {
		fmt.Fprintf(&own, "\t%q\n", strings.TrimSuffix(module+name, "/"))
	}
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	return "package main\n\nimport (\n" + std + "\n" + own.String() + ")\n\nfunc main() {\n\t" + strings.Join(lines, "\n\t") + "\n}\n"
}

// mostServerKeys is the largest CAPACITY of FILTER.CREATE.
const mostServerKeys = 1 << 40

// redis is the commands of redis-cli.
func (r recipe) redis(kind string, solved sizing.Params, width int) Snippet {
	v := Snippet{ID: "redis", Title: "redis-cli"}
	switch {
	case r.server == "":
		v.Note = "The server does not have this kind: it needs none, since every filter there takes many writers. Use bloom or cuckoo."
		return v
	case solved.N > mostServerKeys:
		v.Note = "The server takes filters of up to 2^40 keys."
		return v
	}
	n, p, name := strconv.FormatUint(solved.N, 10), plain(solved.P), r.server
	if kind == "fuse" {
		name += strconv.Itoa(width)
	}
	lines := []string{
		fmt.Sprintf("FILTER.CREATE filter %s CAPACITY %s ERROR %s", name, n, p),
		"FILTER.ADD filter apple",
		"FILTER.HAS filter apple pear",
	}
	if r.built {
		begin := fmt.Sprintf("FILTER.REBUILD filter BEGIN %s CAPACITY %s", name, n)
		if kind != "fuse" { // its rate is that of its width
			begin += " ERROR " + p
		}
		lines = []string{begin, "FILTER.REBUILD filter FEED apple banana", "FILTER.REBUILD filter COMMIT", "FILTER.HAS filter apple pear"}
	}
	switch r.redisBloom {
	case "BF":
		lines = append(lines, "BF.RESERVE other "+p+" "+n)
		v.Note = "BF.RESERVE makes a filter as RedisBloom has it, for programs that use BF.* commands."
	case "CF":
		lines = append(lines, "CF.RESERVE other "+n)
		v.Note = "CF.RESERVE makes a filter as RedisBloom has it, for programs that use CF.* commands. Its fingerprints have 8 bits, whatever the rate asked."
	}
	for i := range lines {
		lines[i] = "redis-cli " + lines[i]
	}
	v.Text = strings.Join(lines, "\n") + "\n"
	return v
}

// shell is the commands of bloomery.
func (r recipe) shell(kind string, q *query, solved sizing.Params) Snippet {
	v := Snippet{ID: "shell", Title: "Command line"}
	plan := []string{"bloomery", "plan"}
	arg := func(field, value string) {
		if q.given[field] || slices.Contains(q.assumed, field) {
			plan = append(plan, field+"="+value)
		}
	}
	arg("n", strconv.FormatUint(solved.N, 10))
	if !q.given["bits"] { // which gives p
		arg("p", plain(solved.P))
	}
	if q.given["m"] && !q.given["bits"] {
		arg("m", strconv.FormatUint(solved.M, 10))
	}
	if q.given["bits"] {
		if !q.given["n"] && !slices.Contains(q.assumed, "n") { // it came from m
			plan = append(plan, "n="+strconv.FormatUint(solved.N, 10))
		}
		arg("bits", strconv.FormatFloat(q.PerKey, 'g', -1, 64))
	}
	arg("k", strconv.Itoa(solved.K))
	if words := q.words(); len(words) > 0 {
		plan = append(plan, "--needs", strings.Join(words, ","))
	}
	v.Text = strings.Join(plan, " ") + "\n"
	if !r.file {
		v.Note = "Filters of this kind live in a program or on the server, not in files that bloomery build makes."
		return v
	}
	build := fmt.Sprintf("bloomery build --kind %s -p %s", kind, plain(solved.P))
	if !r.built { // those count the keys themselves
		build += fmt.Sprintf(" -n %d", solved.N)
	}
	v.Text += build + " -o filter.bf keys.txt\nbloomery check filter.bf apple pear\n"
	return v
}

// words returns the needs by their names.
func (q *query) words() []string {
	var all []string
	for _, word := range question.Needs() {
		if with := q.needs; question.Need(&with, word) && with == q.needs {
			all = append(all, word)
		}
	}
	return all
}

// plain writes a rate so that every reader takes it: 0.01, 1e-07.
func plain(p float64) string { return strconv.FormatFloat(p, 'g', -1, 64) }

// underscored writes a number as Go source: 1_000_000.
func underscored(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "_" + s[i:]
	}
	return s
}
