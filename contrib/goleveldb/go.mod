module github.com/bloomery/bloomery/contrib/goleveldb

go 1.26.0

replace github.com/bloomery/bloomery => ../..

require (
	github.com/bloomery/bloomery v0.0.0-00010101000000-000000000000
	github.com/syndtr/goleveldb v1.0.0
)

require (
	github.com/golang/snappy v0.0.0-20180518054509-2e65f85255db // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
