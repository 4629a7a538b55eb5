module github.com/bloomery/bloomery

go 1.26
