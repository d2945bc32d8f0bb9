import { expect, test } from 'vitest'
import fc from 'fast-check'
import { cpuMs } from '../../../plan/test/cpu-time.ts'
import { buildAutomaton, Masker, maskText } from './mask.ts'
import { secretForms } from './secret-forms.ts'

const word = fc.string({ unit: fc.constantFrom(...Array.from('abcAB01+/= \n%')), minLength: 3, maxLength: 12 })
const binary = fc.string({ minLength: 3, maxLength: 40, unit: 'binary' }).map((text) => text.toWellFormed().replaceAll('*', '+'))
const anySecret = fc.oneof(word, binary, fc.constant('line one\nline two\n  three'))

const encodings: Record<string, (secret: string, before: string, after: string) => string> = {
  raw: (secret) => secret,
  base64: (secret, before, after) => Buffer.from(before + secret + after).toString('base64'),
  base64url: (secret, before, after) => Buffer.from(before + secret + after).toString('base64url'),
  url: (secret) => encodeURIComponent(secret),
  form: (secret) => encodeURIComponent(secret).replaceAll('%20', '+'),
  json: (secret) => JSON.stringify(secret),
  'ascii json': (secret) => asciiJson(secret),
  'ascii json in capitals': (secret) => asciiJson(secret, (hex) => hex.toUpperCase()),
}

/** Encodes like Python's `json.dumps` and PHP's `json_encode`. Jackson uses upper-case digits. */
function asciiJson(text: string, digits = (hex: string): string => hex): string {
  const code = (unit: string): string => `\\u${digits(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`
  return JSON.stringify(text).replaceAll(/[\u0080-\uffff]/g, code)
}

function maskInPieces(secrets: readonly string[], bytes: Buffer, cuts: readonly number[]): Buffer {
  const masker = new Masker(buildAutomaton(secretForms(secrets)))
  const out: Buffer[] = []
  let from = 0
  for (const to of [...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]) {
    out.push(masker.push(bytes.subarray(from, to)))
    from = to
  }
  return Buffer.concat([...out, masker.end()])
}

test('masks a secret in any encoding and at any alignment', () => {
  fc.assert(
    fc.property(anySecret, fc.constantFrom(...Object.keys(encodings)), word, word, (secret, name, before, after) => {
      const encode = encodings[name] ?? ((text: string) => text)
      const text = `>>${encode(secret, before, after)}<<`
      const masked = maskInPieces([secret], Buffer.from(text), []).toString('utf8')
      const forms = secretForms([secret]).filter((form) => Buffer.from(text).includes(form))
      expect(forms.length).toBeGreaterThan(0)
      for (const form of forms) expect(masked.includes(form.toString('utf8'))).toBe(false)
    }),
    { numRuns: 2000 },
  )
})

test('gives the same result for any chunking', () => {
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 4 }),
      fc.array(fc.oneof(word, fc.nat(3)), { maxLength: 12 }),
      fc.array(fc.nat(150), { maxLength: 20 }),
      (secrets, pieces, cuts) => {
        const bytes = Buffer.from(pieces.map((piece) => (typeof piece === 'number' ? (secrets[piece] ?? '') : piece)).join(''))
        const whole = maskInPieces(secrets, bytes, [])
        expect(maskInPieces(secrets, bytes, cuts).equals(whole)).toBe(true)
        expect(maskInPieces(secrets, bytes, [...bytes.keys()]).equals(whole)).toBe(true)
      },
    ),
    { numRuns: 1500 },
  )
})

test('holds back bytes that may be the start of a secret', () => {
  const masker = new Masker(buildAutomaton(secretForms(['swordfish'])))
  expect(masker.push(Buffer.from('the word is sword')).toString()).toBe('the word is ')
  expect(masker.push(Buffer.from('')).toString()).toBe('')
  expect(masker.push(Buffer.from('fish!')).toString()).toBe('*****!')
  expect(masker.push(Buffer.from('a sword')).toString()).toBe('a ')
  expect(masker.end().toString()).toBe('sword')
})

test('passes text without secrets unchanged', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const text = Buffer.from(bytes)
      expect(maskInPieces(['a secret that does not occur'], text, [3, 50, 51]).equals(text)).toBe(true)
    }),
  )
})

test('does not mask values shorter than three characters', () => {
  expect(maskText(buildAutomaton(secretForms(['ab', ''])), 'ab ab')).toBe('ab ab')
})

test('does not mask the first and last line of a PEM block, true, false and brackets', () => {
  const trie = buildAutomaton(
    secretForms(['-----BEGIN KEY-----\nc2VjcmV0\n-----END KEY-----', 'true', '{\n  "a": "hunter2"\n}, {']),
  )
  expect(maskText(trie, '-----BEGIN KEY-----')).toBe('-----BEGIN KEY-----')
  expect(maskText(trie, 'c2VjcmV0 is true, {')).toBe('***** is true, {')
})

test('masks a word that is common but may be a password', () => {
  expect(maskText(buildAutomaton(secretForms(['default', 'none'])), 'user default, none')).toBe('user *****, *****')
})

test('masks each line of a multi-line secret', () => {
  const key = '-----BEGIN KEY-----\n  c2VjcmV0IGtleQ==\n-----END KEY-----\n'
  const trie = buildAutomaton(secretForms([key]))
  expect(maskText(trie, 'got c2VjcmV0IGtleQ==, ok')).toBe('got *****, ok')
  expect(maskText(trie, `x${key}y`)).toBe('x*****y')
})

test('masks a hundred secrets at little more cost than five', () => {
  const line = Buffer.from('2026-11-20 line 1234567 of a build that says something about sec and s3 buckets\n'.repeat(400))
  const cost = (count: number): number => {
    const secrets = Array.from({ length: count }, (_, index) => `secret-${index}-${'x'.repeat(index % 30)}Q7`)
    const masker = new Masker(buildAutomaton(secretForms(secrets)))
    const pass = (): number =>
      cpuMs(() => {
        for (let bytes = 0; bytes < 4e7; bytes += line.length) masker.push(line)
      })
    return Math.min(pass(), pass(), pass())
  }
  // Twenty times as many secrets. The kernel measures CPU time in steps of up to 10 ms.
  expect(cost(100)).toBeLessThan(5 * cost(5) + 30)
})

test('masks every encoding of a secret the same at every split of the text', () => {
  const secret = 'p4ss w/ord+1'
  for (const [name, encode] of Object.entries(encodings)) {
    const bytes = Buffer.from(`before ${encode(secret, 'x', 'yz')} between ${encode(secret, '', '')} after p4ss`)
    const whole = maskInPieces([secret], bytes, [])
    expect(whole.includes('*****'), name).toBe(true)
    for (let first = 0; first <= bytes.length; first += 1) {
      expect(maskInPieces([secret], bytes, [first]).equals(whole), `${name} at ${first}`).toBe(true)
      for (let second = first; second <= bytes.length; second += 7)
        expect(maskInPieces([secret], bytes, [first, second]).equals(whole), `${name} at ${first} and ${second}`).toBe(true)
    }
  }
})

test('masks long texts, which are mostly skipped, as if read byte by byte', () => {
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 4 }),
      fc.array(fc.oneof(word, fc.nat(3), fc.constant('a long piece of text without anything to hide in it. '.repeat(20))), {
        maxLength: 12,
      }),
      fc.array(fc.nat(4000), { maxLength: 6 }),
      (secrets, pieces, cuts) => {
        const bytes = Buffer.from(pieces.map((piece) => (typeof piece === 'number' ? (secrets[piece] ?? '') : piece)).join(''))
        expect(maskInPieces(secrets, bytes, cuts).equals(maskInPieces(secrets, bytes, [...bytes.keys()]))).toBe(true)
      },
    ),
    { numRuns: 400 },
  )
})

test('does not repeat bytes that were shown early and masks the rest of their secret', () => {
  const masker = new Masker(buildAutomaton(secretForms(['swordfish'])))
  expect(masker.push(Buffer.from('a swo')).toString()).toBe('a ')
  expect(masker.showHeld(2).toString()).toBe('sw')
  expect(masker.showHeld(2).toString()).toBe('')
  expect(masker.push(Buffer.from('rdfish too')).toString()).toBe('***** too')
  expect(masker.push(Buffer.from('sw')).toString()).toBe('')
  expect(masker.showHeld(2).toString()).toBe('sw')
  expect(masker.push(Buffer.from('im')).toString()).toBe('im')
})
