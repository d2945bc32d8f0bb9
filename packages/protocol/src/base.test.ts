import { expect, test } from 'vitest'
import { HttpUrl, parseBaseUrl } from './base.ts'

test.each([
  ['http://10.9.8.7:7400', 'http://10.9.8.7:7400'],
  ['HTTPS://Edge.Example.com:443/', 'https://edge.example.com'],
  ['https://edge.example.com/windlass//', 'https://edge.example.com/windlass'],
  ['http://[FD00::7]:80/', 'http://[fd00::7]'],
])('normalizes the base URL %s to %s', (text, expected) => {
  expect(parseBaseUrl(text)).toBe(expected)
  expect(HttpUrl.parse(text)).toBe(expected)
})

test.each([
  '',
  'windlass.example.com',
  'ftp://windlass.example.com',
  'http:windlass.example.com',
  'https://name:secret@windlass.example.com',
  'https://name@windlass.example.com',
  'https://:secret@windlass.example.com',
  'https://@windlass.example.com',
  'https://windlass.example.com/?key=1',
  'https://windlass.example.com?',
  'https://windlass.example.com/#part',
  'https://windlass.example.com#',
  'https://windlass.example.com/a\nb',
  'https://wind\tlass.example.com',
  'https://windlass.example.com/\u0000',
  'https://windlass.example.com/\u0085x',
  'https://windlass.example.com/a b',
  'https://windlass.example.com\\a',
  `https://windlass.example.com/${'a'.repeat(2000)}`,
])('rejects %j as a base URL', (text) => {
  expect(parseBaseUrl(text)).toBeUndefined()
  expect(HttpUrl.safeParse(text).success).toBe(false)
})
