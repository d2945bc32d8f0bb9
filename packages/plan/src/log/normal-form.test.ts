import { expect, test } from 'vitest'
import type { HashKey } from './keyed-hash.ts'
import { NormalForm, normalForm } from './normal-form.ts'

const KEY: HashKey = [0x01234567, 0x89abcdef]

test.each([
  ['times', '2026-11-24T16:27:20.123Z ready', '2025-01-02T03:04:05.9Z ready'],
  ['dates of a syslog', 'Tue Nov 24 16:27:20 UTC 2026 start', 'Wed Dec  2 01:02:03 UTC 2026 start'],
  ['clocks', '[12:33:01] start', '[01:02:03] start'],
  ['durations in any unit', 'built in 1m 12s', 'built in 350 ms'],
  ['numbers and sizes', 'sent 1,234,567 bytes (3.9 MB)', 'sent 12 bytes (812 KiB)'],
  ['hexadecimal ids', 'commit 9e11f03abc', 'commit 0123456789'],
  ['hexadecimal ids without a digit', 'layer deadbeefcafe done', 'layer 0a1b2c3d4e5f done'],
  ['UUIDs', 'run 6f1c2a34-0b1d-4e2f-9a8b-0123456789ab', 'run 00000000-0000-4000-8000-000000000000'],
  ['digests', 'pulled alpine@sha256:0123abcd', 'pulled alpine@sha256:deadbeef01'],
  ['paths', 'wrote /tmp/build-x1/out.txt', 'wrote /var/lib/z9/a/b'],
  ['Windows paths', String.raw`wrote C:\work\a`, String.raw`wrote D:\tmp\b\c`],
  ['addresses', 'GET https://a.example/x?y=1', 'GET https://b.example/z/w?y=22'],
  ['names of pods', 'pod app-7d9f8b-x2 started', 'pod app-5c6d7e-k9 started'],
  ['progress bars', '[=====>     ] 45 %', '[=>  ] 7 %'],
  ['spaces', '  a   b\t', 'a b'],
])('lines that differ only in %s have the same normal form', (_, one, other) => {
  expect(normalForm(one)).toBe(normalForm(other))
})

test.each([
  ['expected 19 to be 7', 'expected 19 to equal 7'],
  ['ok 12 returns', 'not ok 12 returns'],
  ['adds lodash@4.17.21', 'adds left-pad@1.3.0'],
  ['FAIL returns', 'PASS returns'],
  ['12 %', '12 items'],
  ['took 12 s', 'took 12 steps'],
  ['für', 'fur'],
])('%j and %j have different normal forms', (one, other) => {
  expect(normalForm(one)).not.toBe(normalForm(other))
})

test('equal normal forms have equal hashes, and others have different ones', () => {
  const form = new NormalForm()
  const seen = new Set<string>()
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  for (let index = 0; index < 50_000; index += 1) {
    const word = [index % 26, Math.floor(index / 26) % 26, Math.floor(index / 676) % 26, Math.floor(index / 17_576)]
      .map((at) => letters[at])
      .join('')
    const line = `a line of a log says g${word} ${index}`
    form.read(line, 0, line.length)
    form.hash(KEY)
    seen.add(`${form.high} ${form.low}`)
    const [high, low] = [form.high, form.low]
    const again = `x${line.replace(/\d+$/, String(index + 1))}`
    form.read(again, 1, again.length)
    form.hash(KEY)
    expect([form.high, form.low]).toEqual([high, low])
  }
  expect(seen.size).toBe(50_000)
})

test('a line without text is empty, and only the start of a very long line counts', () => {
  const form = new NormalForm()
  form.read(' \t ', 0, 3)
  expect(form.isEmpty).toBe(true)
  expect(normalForm(`${'ab '.repeat(3_000)}x`)).toBe(normalForm(`${'ab '.repeat(3_000)}y`))
})
