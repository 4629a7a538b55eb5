package main

import (
	"archive/zip"
	"bufio"
	"context"
	"fmt"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// load returns taken names and leaked passwords: the names of all npm packages and the word
// list of sqlmap, or made-up ones.
func load(ctx context.Context, o demo.Options) (names, passwords []string, err error) {
	if !o.Full {
		for i := range 50_000 {
			names = append(names, fmt.Sprintf("%s%s%d", syllables[i%len(syllables)], syllables[i/len(syllables)%len(syllables)], i/400))
			passwords = append(passwords, fmt.Sprintf("%s%d", syllables[i%len(syllables)], i))
		}
		return names, passwords, nil
	}
	file, err := demo.NPM(ctx, "all-the-package-names@2.0.2578", "names.json")
	if err != nil {
		return nil, nil, err
	}
	if err := demo.JSON(file, &names); err != nil {
		return nil, nil, err
	}
	passwords, err = sqlmapWords(ctx)
	return names, passwords, err
}

var syllables = []string{"al", "be", "cy", "do", "el", "fay", "gus", "hal", "ida", "jo", "kim", "lou", "mia", "ned", "oz", "pat", "roy", "sue", "tom", "zoe"}

// sqlmapWords returns the lines of the word list of sqlmap, which is a zip file.
func sqlmapWords(ctx context.Context) ([]string, error) {
	file, err := demo.Deb(ctx, "sqlmap", "usr/share/sqlmap/data/txt/wordlist.tx_")
	if err != nil {
		return nil, err
	}
	archive, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	words, err := archive.Open("wordlist.txt")
	if err != nil {
		return nil, err
	}
	defer words.Close()
	var all []string
	lines := bufio.NewScanner(words)
	for lines.Scan() {
		all = append(all, lines.Text())
	}
	return all, lines.Err()
}
