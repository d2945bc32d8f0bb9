module windlass.local/dind-helper

go 1.24.0
