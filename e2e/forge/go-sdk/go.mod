module windlass.local/go-sdk

go 1.26.0

require github.com/codefresh-io/go-sdk v1.4.15
