import { expect, test } from 'vitest'
import { acceptsGzip, isCompressible } from './gzip.ts'

test.each([
  ['gzip', true],
  ['br, GZIP;q=0.5', true],
  ['*', true],
  ['gzip;q=0', false],
  ['*;q=1, gzip; q=0.0', false],
  ['br', false],
  ['', false],
  [undefined, false],
])('accept-encoding %s: %s', (given, expected) => {
  expect(acceptsGzip(given)).toBe(expected)
})

const JSON_TYPE = { 'content-type': 'application/json' }

test.each([
  [{ status: 200, headers: { ...JSON_TYPE, 'content-length': '1000' } }, true],
  [{ status: 404, headers: { 'content-type': 'Text/Plain; charset=utf-8' } }, true],
  [{ status: 200, headers: { 'content-type': 'application/xml' } }, true],
  [{ status: 200, headers: { ...JSON_TYPE, 'content-length': '999' } }, false],
  [{ status: 200, headers: { 'content-type': 'text/event-stream' } }, false],
  [{ status: 200, headers: { 'content-type': 'text/html' } }, false],
  [{ status: 200, headers: {} }, false],
  [{ status: 204, headers: JSON_TYPE }, false],
  [{ status: 206, headers: { ...JSON_TYPE, 'content-range': 'bytes 0-1/2' } }, false],
  [{ status: 200, headers: { ...JSON_TYPE, 'content-encoding': 'br' } }, false],
  [{ status: 200, headers: { ...JSON_TYPE, 'cache-control': 'private, no-transform' } }, false],
])('%o: %s', (answer, expected) => {
  expect(isCompressible({ mayHaveTrailers: false, ...answer })).toBe(expected)
})
