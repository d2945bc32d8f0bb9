import { expect, test } from 'vitest'
import { logUrl } from './log-host.ts'

test.each([
  ['https://ci.example.com', 'https://ci.example.com/api/logs'],
  ['https://ci.example.com:8443', 'https://ci.example.com:8443/api/logs'],
  ['http://ci.example.com', 'http://ci.example.com:80/api/logs'],
  ['http://localhost:8080', 'http://127.0.1:8080/api/logs'],
  ['http://127.0.0.1:8080', 'http://127.0.1:8080/api/logs'],
  ['http://192.168.1.10:8080', 'http://192.168.266:8080/api/logs'],
])('public clients reach the log socket of %s at %s', (base, expected) => {
  expect(logUrl(base)).toBe(expected)
})

test.each([
  'http://windlass:8080',
  'https://a.b.example.com',
  'https://ci.firebase.com',
  'http://[::1]:8080',
  'https://ci.example.com/below',
  '',
])('public clients cannot use the log socket of "%s"', (base) => {
  expect(logUrl(base)).toBeUndefined()
})
