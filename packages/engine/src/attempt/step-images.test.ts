import { expect, test } from 'vitest'
import { pullHint } from './step-images.ts'

test.each([
  ['Get "https://r.example/v2/": dial tcp: lookup r.example on 10.0.0.1:53: no such host', 'does not reach the registry'],
  ['Get "https://r.example/v2/": dial tcp 10.0.0.9:443: connect: connection refused', 'does not reach the registry'],
  ['Get "https://r.example/v2/": net/http: request canceled (Client.Timeout exceeded)', 'does not reach the registry'],
  ['Get "https://r.example/v2/": x509: certificate signed by unknown authority', 'does not trust r.example'],
  ['http: server gave HTTP response to HTTPS client', 'does not trust r.example'],
  ['manifest for r.example/app:1 not found: manifest unknown', 'Check the name and the tag'],
  ['pull access denied for app, repository does not exist', 'Check the name and the tag'],
])('gives a hint that fits the error: %s', (message, hint) => {
  expect(pullHint(message, 'r.example/app:1')).toContain(hint)
})
