package web

// The routes of the lessons.

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/server/internal/web/teach"
)

// teachRoutes show how filters work. They make small filters of their own and need
// no data, so anybody may use them who may see the page.
var teachRoutes = []route{
	{"GET", "/api/v1/teach", (*call).teach, static, "Plays a lesson, or actions on a small filter, and shows every bit after every step."},
	{"GET", "/api/v1/teach/lessons", (*call).teachLessons, static, "Lists the lessons, and the kinds of filters that can be shown."},
	{"GET", "/api/v1/teach/find", (*call).teachFind, static, "Looks for a false positive of a scene."},
	{"GET", "/api/v1/teach/hashes", (*call).teachHashes, static, "Compares a good hash function with a poor one on the same keys."},
	{"GET", "/api/v1/teach/saturation", (*call).teachSaturation, static, "Fills a filter to four times its capacity and measures its false positive rate."},
}

// lessonList is what there is to show.
type lessonList struct {
	Lessons []teach.Lesson `json:"lessons"`
	Kinds   []teach.Kind   `json:"kinds"`
	Limits  map[string]int `json:"limits"`
}

func (c *call) teachLessons() error {
	return c.compute(func() (any, error) {
		return lessonList{teach.Lessons(), teach.Kinds(), map[string]int{
			"actions": teach.MaxActions, "key_bytes": teach.MaxKeyBytes, "min_keys": teach.MinTrialKeys, "max_keys": teach.MaxTrialKeys,
		}}, nil
	})
}

func (c *call) teach() error {
	return c.script(func(s teach.Script) (any, error) { return s.Play() })
}

func (c *call) teachFind() error {
	return c.script(func(s teach.Script) (any, error) { return s.Find() })
}

// script reads a script from the query and answers what f makes of it.
func (c *call) script(f func(teach.Script) (any, error)) error {
	return c.experiment([]string{"lesson", "kind", "bits", "hashes", "do"}, func(q url.Values) (any, error) {
		s, err := readScript(q)
		if err != nil {
			return nil, err
		}
		return f(s)
	})
}

func readScript(q url.Values) (teach.Script, error) {
	s := teach.Script{Lesson: q.Get("lesson"), Kind: q.Get("kind")}
	if s.Lesson == "" && s.Kind == "" {
		s.Kind = "standard"
	}
	var err error
	if s.Bits, err = wholeOf(q, "bits"); err != nil {
		return s, err
	}
	if s.Hashes, err = wholeOf(q, "hashes"); err != nil {
		return s, err
	}
	if n := len(q["do"]); n > teach.MaxActions {
		return s, &teach.FieldError{Field: "do", Cause: strconv.Itoa(n) + " actions, at most " + strconv.Itoa(teach.MaxActions)}
	}
	for _, text := range q["do"] {
		a, err := teach.ParseAction(text)
		if err != nil {
			return s, err
		}
		s.Actions = append(s.Actions, a)
	}
	return s, nil
}

// wholeOf reads a whole number of a query, 0 if it is not given.
func wholeOf(q url.Values, name string) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, &teach.FieldError{Field: name, Cause: "must be a whole number of at least 1"}
	}
	return int(n), nil
}

func (c *call) teachHashes() error {
	return c.experiment([]string{"n", "p", "keys"}, func(q url.Values) (any, error) {
		n, p, err := readTrial(q)
		if err != nil {
			return nil, err
		}
		keys := q.Get("keys")
		if keys != "" && keys != "structured" && keys != "random" {
			return nil, &teach.FieldError{Field: "keys", Cause: "must be structured or random"}
		}
		return teach.Compare(n, p, keys != "random")
	})
}

func (c *call) teachSaturation() error {
	return c.experiment([]string{"kind", "n", "p"}, func(q url.Values) (any, error) {
		n, p, err := readTrial(q)
		if err != nil {
			return nil, err
		}
		kind := q.Get("kind")
		if kind == "" {
			kind = "standard"
		}
		return teach.Grow(kind, n, p)
	})
}

// readTrial reads the number of keys and the rate of an experiment.
func readTrial(q url.Values) (n int, p float64, err error) {
	n, p = 1000, 0.01
	if text := q.Get("n"); text != "" {
		count, err := figures.Count(text)
		if err != nil {
			return 0, 0, &teach.FieldError{Field: "n", Cause: err.Error()}
		}
		n = int(min(count, 1<<31-1))
	}
	if text := q.Get("p"); text != "" {
		if p, err = figures.Rate(text); err != nil {
			return 0, 0, &teach.FieldError{Field: "p", Cause: err.Error()}
		}
	}
	return n, p, nil
}

// experiment reads the query, which has no other fields than those named, and
// answers what f makes of it.
func (c *call) experiment(fields []string, f func(url.Values) (any, error)) error {
	q, err := c.query()
	if err != nil {
		return err
	}
	for name, values := range q {
		if !slices.Contains(fields, name) || len(values) > 1 && name != "do" {
			return invalid("the query of the URL takes %v, each once but for do", fields)
		}
	}
	return c.compute(func() (any, error) { return f(q) })
}
