module github.com/bloomery/bloomery/bench/server

go 1.26.0
