package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// load returns addresses: paths of Debian's packages, whose first folders stand for the domain,
// or made-up ones.
func load(ctx context.Context, o demo.Options, n int) ([]string, error) {
	var urls []string
	if !o.Full {
		for i := range n {
			urls = append(urls, fmt.Sprintf("https://site-%d.example/%d.html", i%997, i))
		}
		return urls, nil
	}
	file, err := demo.Paths(ctx)
	if err != nil {
		return nil, err
	}
	paths, err := demo.Lines(file)
	if err != nil {
		return nil, err
	}
	for i := range n {
		path := paths[i*len(paths)/n]
		folders := strings.SplitN(path, "/", 5)
		urls = append(urls, "https://"+strings.Join(folders[:len(folders)-1], ".")+"/"+path)
	}
	rand.New(rand.NewPCG(13, 14)).Shuffle(n, func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
	return urls, nil
}
