package teach

// Finding a false positive.

import (
	"fmt"
	"strconv"
)

// MaxTries is how many keys Find asks for.
const MaxTries = 100_000

// Found is a false positive, or that there was none.
type Found struct {
	// Key is the false positive, "" if there was none among so many Tried.
	Key   string `json:"key"`
	Tried int    `json:"tried"`
	// Predicted is the false positive rate at the present fill.
	Predicted float64 `json:"predicted"`
	Text      string  `json:"text"`
}

// animals are asked for first: a word is easier to talk about than a number.
var animals = []string{
	"ant", "ape", "bat", "bear", "bee", "bird", "boar", "cow", "crab", "crow", "deer", "dove", "duck", "eagle", "eel", "elk", "emu", "fish",
	"fox", "frog", "goat", "goose", "gull", "hare", "hawk", "hen", "horse", "ibex", "jay", "koala", "lamb", "lark", "lion", "lynx", "mole",
	"moose", "moth", "mouse", "newt", "otter", "owl", "ox", "panda", "pig", "pony", "puma", "rabbit", "ram", "rat", "raven", "seal", "shark",
	"sheep", "snail", "snake", "stork", "swan", "tiger", "toad", "trout", "wasp", "whale", "wolf", "worm", "yak", "zebra",
}

// Find plays the script and looks for a key that the filter reports though it
// was not inserted. The error is a *FieldError.
func (s Script) Find() (Found, error) {
	_, r, err := s.play()
	if err != nil {
		return Found{}, err
	}
	g, ruled := r.machine.(*given)
	if _, ok := r.machine.(paper); ok && !(ruled && g.rule != nil) {
		return Found{}, fault("lesson", "only the words of this lesson have positions: there is nothing else to try")
	}
	f := Found{Predicted: r.stats().Predicted}
	for f.Tried < MaxTries {
		key := candidate(f.Tried)
		f.Tried++
		if r.has(key) && !r.inserted(key) {
			f.Key = key
			f.Text = fmt.Sprintf("%s tried: “%s” is a false positive.", count(f.Tried, "key"), key)
			return f, nil
		}
	}
	f.Text = fmt.Sprintf("No false positive among %s that were tried. Add more keys, then they become likely.", count(f.Tried, "key"))
	return f, nil
}

// candidate returns key number i of those that Find tries.
func candidate(i int) string {
	if i < len(animals) {
		return animals[i]
	}
	return "guess " + strconv.Itoa(i-len(animals)+1)
}
