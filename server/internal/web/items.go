package web

// Items: add, look up, delete, count.

import (
	"net/http"
	"slices"

	"github.com/bloomery/bloomery/server/internal/answer"
)

var itemRoutes = []route{
	{"POST", "/api/v1/filters/{name}/add", itemHandler("add"), writes, "Adds items to a filter, and returns for each whether it was new."},
	{"POST", "/api/v1/filters/{name}/has", itemHandler("has"), reads, "Returns for each item whether it may be in a filter; false is certain."},
	{"POST", "/api/v1/filters/{name}/count", itemHandler("count"), reads, "Returns for each item how often it was added."},
	{"POST", "/api/v1/filters/{name}/del", itemHandler("del"), writes, "Deletes one occurrence of each item, and returns for each whether it was there."},
}

// The types of keys that are filters, as TYPE names them.
const (
	typeFilter = "bloomery-"
	typeBloom  = "MBbloom--"
	typeCuckoo = "MBbloomCF"
	typeLayers = "bloomlyrs"
)

// itemCommand is how items of a filter are worked on: the word of the command, what
// stands between key and items, and whether it takes one item at a time.
type itemCommand struct {
	word   string
	before []string
	single bool
}

// itemCommands are the commands of an operation, by the type of the key.
var itemCommands = map[string]map[string]itemCommand{
	"add": {
		typeFilter: {word: "FILTER.ADD"},
		typeBloom:  {word: "BF.INSERT", before: []string{"NOCREATE", "ITEMS"}},
		typeCuckoo: {word: "CF.INSERT", before: []string{"NOCREATE", "ITEMS"}},
	},
	"has": {
		typeFilter: {word: "FILTER.HAS"}, typeLayers: {word: "FILTER.HAS"},
		typeBloom: {word: "BF.MEXISTS"}, typeCuckoo: {word: "CF.MEXISTS"},
	},
	"count": {typeFilter: {word: "FILTER.COUNT"}, typeCuckoo: {word: "CF.COUNT", single: true}},
	"del":   {typeFilter: {word: "FILTER.DEL"}, typeCuckoo: {word: "CF.DEL", single: true}},
}

// cannot begins the sentence about a type that lacks an operation.
var cannot = map[string]string{typeBloom: "a filter of BF cannot ", typeLayers: "layers hold no items, and cannot "}

// filterType returns the type of a key, or that there is no such filter.
func (c *call) filterType(name string) (string, error) {
	reply, err := c.do("TYPE", name)
	if err != nil {
		return "", err
	}
	switch reply.Text {
	case typeFilter, typeBloom, typeCuckoo, typeLayers:
		return reply.Text, nil
	case "none":
		return "", notFound
	}
	return "", problemOf(answer.TextWrongType)
}

// itemHandler returns what answers an operation on items.
func itemHandler(operation string) func(*call) error {
	return func(c *call) error {
		name, err := c.filterName()
		if err != nil {
			return err
		}
		items, err := c.items()
		if err != nil {
			return err
		}
		kind, err := c.filterType(name)
		if err != nil {
			return err
		}
		command, ok := itemCommands[operation][kind]
		if !ok {
			return problem{http.StatusConflict, "unsupported", cannot[kind] + operation + " items"}
		}
		o := outcome{Results: make([]any, 0, len(items))}
		for some := range slices.Chunk(items, command.most(len(items))) {
			replies, err := c.doAll(command.calls(name, some))
			if err != nil {
				return err
			}
			if err := o.take(replies, len(some)); err != nil {
				return err
			}
			c.reuse()
		}
		if len(o.Errors) == len(items) {
			return o.first
		}
		return c.json(http.StatusOK, &o)
	}
}

// most returns how many of n items are worked on at a time.
func (i itemCommand) most(n int) int {
	const calls = 256
	if i.single {
		return min(n, calls)
	}
	return n
}

// items reads the items of a request.
func (c *call) items() ([]bytesOf, error) {
	var v struct {
		Items []bytesOf `json:"items"`
	}
	if err := c.read(&v); err != nil {
		return nil, err
	}
	if len(v.Items) == 0 || len(v.Items) > mostItems {
		return nil, invalid("items: want 1 to %d of them", mostItems)
	}
	return v.Items, nil
}

// calls returns the commands for items of a key.
func (i itemCommand) calls(name string, items []bytesOf) [][][]byte {
	begin := [][]byte{[]byte(i.word), []byte(name)}
	for _, word := range i.before {
		begin = append(begin, []byte(word))
	}
	if !i.single {
		for _, item := range items {
			begin = append(begin, item)
		}
		return [][][]byte{begin}
	}
	all := make([][][]byte, len(items))
	for at, item := range items {
		all[at] = [][]byte{begin[0], begin[1], item}
	}
	return all
}

// itemError is an item that could not be worked on.
type itemError struct {
	Index   int    `json:"index"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// outcome is what became of items: a value for each, null where there is an error.
type outcome struct {
	Results []any       `json:"results"`
	Errors  []itemError `json:"errors,omitempty"`

	first problem // of the first error
}

func (o *outcome) fail(text string) {
	p := problemOf(text)
	if len(o.Errors) == 0 {
		o.first = p
	}
	o.Errors = append(o.Errors, itemError{len(o.Results), p.code, p.message})
	o.Results = append(o.Results, nil)
}

// textItemFull is the error of an item that a cuckoo filter has no room for.
const textItemFull = "ERR filter is full"

// add takes over a reply: a value, an error, or a list of them.
func (o *outcome) add(r *answer.Reply) {
	switch r.Kind {
	case answer.Error:
		o.fail(r.Text)
	case answer.Array:
		for i := range r.Elems {
			o.add(&r.Elems[i])
		}
	case answer.Bools:
		for _, v := range r.Bools {
			o.Results = append(o.Results, v)
		}
	case answer.Codes, answer.CodeInts:
		for _, code := range r.Codes {
			if code < 0 {
				o.fail(textItemFull)
			} else {
				o.Results = append(o.Results, code > 0)
			}
		}
	default:
		o.Results = append(o.Results, valueOf(r))
	}
}

// take takes over the replies for n more items. A command of several items that
// fails as a whole is an error.
func (o *outcome) take(replies []answer.Reply, n int) error {
	before := len(o.Results)
	if r := &replies[0]; len(replies) == 1 && r.Failed() && (n > 1 || before == 0) {
		return problemOf(r.Text)
	}
	for i := range replies {
		o.add(&replies[i])
	}
	for text := replies[0].Text; replies[0].Kind == answer.Bools && text != "" && len(o.Results) < before+n; {
		o.fail(text) // the list ends with the first that failed
	}
	return nil
}
