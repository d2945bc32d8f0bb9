import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileMask, formsOf, SHORTEST_SECRET } from './mask.ts'

/** Masks `text` given in pieces cut at `cuts`. */
function maskInPieces(secrets: readonly string[], text: Buffer, cuts: readonly number[]): string {
  const stream = compileMask(secrets).stream()
  const places = [...new Set([0, ...cuts.filter((cut) => cut < text.length), text.length])].toSorted((a, b) => a - b)
  const parts = places.slice(1).map((end, index) => stream.write(text.subarray(places[index] ?? 0, end)))
  return Buffer.concat([...parts, stream.end()]).toString('latin1')
}

const encodings: Record<string, (secret: string) => string> = {
  raw: (secret) => secret,
  base64: (secret) => Buffer.from(secret).toString('base64'),
  'base64 after one byte': (secret) => Buffer.from(`u${secret}`).toString('base64'),
  'base64 after two bytes': (secret) => Buffer.from(`u:${secret}`).toString('base64'),
  base64url: (secret) => Buffer.from(secret).toString('base64url'),
  url: (secret) => encodeURIComponent(secret),
  form: (secret) => new URLSearchParams({ s: secret }).toString().slice(2),
}

const secretText = fc.string({ minLength: 8, maxLength: 40, unit: 'grapheme-ascii' }).filter((text) => text.trim().length >= 8)

describe('masking', () => {
  test.each(Object.entries(encodings))(
    'P130: a secret in the form %s never shows, whatever the chunk borders',
    (_name, encode) => {
      fc.assert(
        fc.property(secretText, fc.string(), fc.string(), (secret, before, after) => {
          const shown = encode(secret)
          const text = Buffer.from(`${before}\n${shown}\n${after}`)
          for (let cut = 0; cut <= text.length; cut += 1) {
            const masked = maskInPieces([secret], text, [cut])
            for (const form of formsOf(secret))
              if (form.length >= 8 && !before.includes(form) && !after.includes(form)) expect(masked).not.toContain(form)
          }
        }),
        { numRuns: 40 },
      )
    },
  )

  test('the same bytes come out however they are cut', () => {
    const secrets = ['abcabd', 'bcab', 'cabdx', 'line one\nline two']
    const piece = fc.constantFrom('abc', 'abd', 'x', '\n', 'bcab', 'line one', ' ', 'line two', 'ab')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(120), { maxLength: 8 }), (pieces, cuts) => {
        const text = Buffer.from(pieces.join(''))
        expect(maskInPieces(secrets, text, cuts)).toBe(maskInPieces(secrets, text, []))
      }),
    )
  })

  test('text without a secret is left alone', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat(300)), (bytes, cuts) => {
        const text = Buffer.from(bytes.map((byte) => (byte === 0x7e ? 0x20 : byte)))
        expect(maskInPieces(['~tilde~secret~'], text, cuts)).toBe(text.toString('latin1'))
      }),
    )
  })

  test('each line of a secret of several lines is hidden by itself', () => {
    const masked = compileMask(['first-line\nsecond-line']).text('a first-line b\nc second-line d')
    expect(masked).toBe('a **** b\nc **** d')
  })

  test('overlapping secrets are hidden as one', () => {
    expect(compileMask(['abcde', 'cdefg']).text('xabcdefgx')).toBe('x****x')
  })

  test('a value of fewer than three characters is not masked', () => {
    expect(SHORTEST_SECRET).toBe(3)
    expect(compileMask(['ab', '']).text('ab cab')).toBe('ab cab')
  })

  test('what may be the beginning of a secret is held back until it is certain, and let go at the end', () => {
    const stream = compileMask(['hunter22']).stream()
    expect(stream.write(Buffer.from('pass: hunter')).toString()).toBe('pass: ')
    expect(stream.write(Buffer.from('s')).toString()).toBe('hunters')
    expect(stream.write(Buffer.from(' hunt')).toString()).toBe(' ')
    expect(stream.end().toString()).toBe('hunt')
  })

  test('a hundred secrets are masked at 50 MB/s or more', () => {
    const secrets = Array.from({ length: 100 }, (_, n) => `secret-number-${n}-${'x'.repeat(20)}`)
    const line = Buffer.from('2026-11-20T10:00:00Z info an ordinary line of a build log without anything in it\n')
    const chunk = Buffer.concat(Array.from({ length: 800 }, () => line))
    const stream = compileMask(secrets).stream()
    const start = performance.now()
    for (let n = 0; n < 160; n += 1) stream.write(chunk)
    const megabytesPerSecond = (160 * chunk.length) / 1e6 / ((performance.now() - start) / 1000)
    expect(megabytesPerSecond).toBeGreaterThan(50)
  })
})
