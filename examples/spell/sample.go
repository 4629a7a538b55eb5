package main

import _ "embed"

// unwantedWords are mild ones: a list for real use is longer, and does not belong here.
const unwantedWords = "blasted blimey bloody crikey cripes damn damned dang darn drat fiddlesticks gosh heck phooey piffle poppycock rats shucks twaddle"

// sampleWords are some common words.
//
//go:embed words.txt
var sampleWords string

// sampleTypos are errors that people make, in the form of codespell's list.
//
//go:embed typos.txt
var sampleTypos string
