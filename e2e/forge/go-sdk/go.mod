module windlass.local/go-sdk

go 1.26.0

require (
	github.com/bitnami-labs/sealed-secrets v0.27.1
	github.com/codefresh-io/go-sdk v1.4.15
)

require (
	golang.org/x/crypto v0.25.0 // indirect
	golang.org/x/sys v0.22.0 // indirect
)
