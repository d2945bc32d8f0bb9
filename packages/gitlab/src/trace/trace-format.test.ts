/** The bytes of a trace: masks, times and the limit. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { tokenValues, URL_VALUES, ValueMasker, type ValueRule } from './mask-values.ts'
import { openTraceFormat, STREAMS, type TraceFormatOptions } from './trace-format.ts'

const AT = Date.UTC(2026, 0, 31, 12) * 1_000 + 123_456
const OPTIONS: TraceFormatOptions = { masked: [], tokenPrefixes: [], limit: 4_194_304 }

/** Cuts bytes at these places. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].toSorted((a, b) => a - b)
  return places.slice(1).map((to, index) => bytes.subarray(places[index], to))
}

function format(options: Partial<TraceFormatOptions>, parts: readonly (string | Buffer)[]): string {
  const trace = openTraceFormat({ ...OPTIONS, ...options })
  const out = parts.map((part) => trace.write({ stream: STREAMS.work, at: AT, bytes: Buffer.from(part) }))
  return Buffer.concat([...out, trace.end()]).toString()
}

function maskAll(rule: ValueRule, text: string, cuts: readonly number[]): string {
  const masker = new ValueMasker(rule)
  const out = pieces(Buffer.from(text), cuts).map((part) => masker.push(part))
  return Buffer.concat([...out, masker.end()]).toString()
}

const cuts = fc.array(fc.nat(300), { maxLength: 12 })

test('a masked value is in no trace, wherever chunks end (G050)', () => {
  const secret = fc.string({ minLength: 4, maxLength: 30, unit: fc.constantFrom(...Array.from('abcAB01+/ ä€')) })
  const noise = fc.string({ maxLength: 20, unit: fc.constantFrom('x', 'y', '\n', 'a', 'b') })
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 4 }),
      fc.array(noise, { maxLength: 6 }),
      cuts,
      (secrets, between, at) => {
        const text = between.map((one, n) => one + (secrets[n % secrets.length] ?? '')).join('')
        const shown = format({ masked: secrets, hasTimes: false }, pieces(Buffer.from(text), at))
        for (const one of between.length === 0 ? [] : secrets)
          if (!'[MASKED]'.includes(one)) expect(shown.replaceAll('[MASKED]', '\u0000')).not.toContain(one)
        expect(shown).toBe(format({ masked: secrets, hasTimes: false }, [text]))
      },
    ),
    { numRuns: 500 },
  )
})

test.each([
  ['https://a.test/x?private_token=abc&y=1', 'https://a.test/x?private_token=[MASKED]&y=1'],
  [
    'https://a.test/?X-Amz-Signature=AbC%2F1&X-AMZ-Credential=k/2',
    'https://a.test/?X-Amz-Signature=[MASKED]&X-AMZ-Credential=[MASKED]',
  ],
  [
    'https://a.test/?X-Goog-Credential=k%2F1&X-Goog-Signature=0aF https://b.test/?se=1&sig=aB%3D',
    'https://a.test/?X-Goog-Credential=[MASKED]&X-Goog-Signature=[MASKED] https://b.test/?se=1&sig=[MASKED]',
  ],
  ['"?rss_token=a" ?other=b', '"?rss_token=[MASKED]" ?other=b'],
  ['&authenticity_token=', '&authenticity_token=[MASKED]'],
  ['private_token=abc', 'private_token=abc'],
])('the URL %s becomes %s, wherever chunks end (G050)', (text, masked) => {
  fc.assert(
    fc.property(cuts, (at) => {
      expect(maskAll(URL_VALUES, text, at)).toBe(masked)
    }),
  )
})

test.each([
  ['token glpat-abc.d_e=f-1 end', 'token glpat-[MASKED] end'],
  ['glrt-t1_abc,gldt-x', 'glrt-[MASKED],gldt-[MASKED]'],
  ['Cookie: _gitlab_session=0123;', 'Cookie: _gitlab_session=[MASKED];'],
  ['own-prefix-secret!', 'own-prefix-[MASKED]!'],
  ['glp at- and glpatx', 'glp at- and glpatx'],
])('the token in "%s" becomes "%s", wherever chunks end (G050)', (text, masked) => {
  fc.assert(
    fc.property(cuts, (at) => {
      expect(maskAll(tokenValues(['own-prefix-']), text, at)).toBe(masked)
    }),
  )
})

test('at most 15 prefixes of the server count, and none that would match everything (G050)', () => {
  const { markers } = tokenValues(['', 'x'.repeat(65), ...Array.from({ length: 20 }, (_, n) => `own${n}-`)])
  expect(markers.filter((marker) => marker.startsWith('own'))).toHaveLength(15)
  expect(markers.every(({ length }) => length > 0 && length <= 64)).toBe(true)
  expect(tokenValues([], false).markers).toEqual(['glpat-'])
})

test('each line has its time and stream, and a part that continues a line has a plus (G051)', () => {
  const trace = openTraceFormat(OPTIONS)
  const write = (stream: number, text: string, at = AT, isError = false): string =>
    trace.write({ stream, at, isError, bytes: Buffer.from(text) }).toString()
  expect(write(STREAMS.executor, 'Running\n')).toBe('2026-01-31T12:00:00.123456Z 00O Running\n')
  expect(write(STREAMS.work, 'one\ntw')).toBe('2026-01-31T12:00:00.123456Z 01O one\n')
  expect(write(STREAMS.work, 'bad\n', AT + 1, true)).toBe('2026-01-31T12:00:00.123457Z 01E bad\n')
  // The time of a line is that of its first byte.
  expect(write(STREAMS.work, 'o\r\n', AT + 5_000_000)).toBe('2026-01-31T12:00:00.123456Z 01O two\r\n')
  expect(write(STREAMS.work, '10 %\r20 %')).toBe('2026-01-31T12:00:00.123456Z 01O 10 %\r\n')
  expect(write(STREAMS.work, '\n')).toBe('2026-01-31T12:00:00.123456Z 01O+20 %\n')
  expect(write(STREAMS.firstService, 'ready\n')).toBe('2026-01-31T12:00:00.123456Z 0fO ready\n')
  expect(write(STREAMS.work, 'x'.repeat(8_200))).toBe(`2026-01-31T12:00:00.123456Z 01O ${'x'.repeat(8_192)}\n`)
  expect(trace.end().toString()).toBe('2026-01-31T12:00:00.123456Z 01O+xxxxxxxx\n')
})

test('without its times the trace has the bytes of the output, wherever chunks end (G051)', () => {
  const text = fc
    .array(fc.constantFrom('a', 'ä€', '\n', '\r\n', '\r', 'x'.repeat(5_000), '\u001B[32m'), { maxLength: 12 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, cuts, (output, at) => {
      const shown = format({}, pieces(Buffer.from(output), at))
      const lines = shown === '' ? [] : shown.slice(0, -1).split(/\n(?=\d{4}-)/)
      const joined = lines.map((line) => {
        const match = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z 01O([ +])([^]*)$/.exec(line)
        expect(match).not.toBeNull()
        return { continues: match?.[1] === '+', text: match?.[2] ?? '' }
      })
      const whole = joined.map(({ continues, text: part }, n) => (n > 0 && !continues ? '\n' : '') + part).join('')
      expect(whole.trimEnd()).toBe(output.trimEnd())
    }),
    { numRuns: 300 },
  )
})

test('beyond the limit the trace says so once, and nothing else comes (G053)', () => {
  const trace = openTraceFormat({ ...OPTIONS, hasTimes: false, limit: 1_024 })
  const write = (text: string): Buffer => trace.write({ stream: STREAMS.work, at: AT, bytes: Buffer.from(text) })
  expect(write('a'.repeat(1_023)).toString()).toBe('a'.repeat(1_023))
  expect(write('€ and more').toString()).toBe(
    "\n\u001B[33;1mJob's log exceeded limit of 1024 bytes.\nJob execution will continue but no more output will be collected.\u001B[0;m\n",
  )
  expect(write('nothing').length + trace.end().length).toBe(0)
})

test('what is not UTF-8 is replaced, and the same output gives the same bytes', () => {
  const output = Buffer.from([0x61, 0xff, 0xfe, 0x0a, 0xc3])
  const shown = format({}, [output])
  expect(shown).toContain('a\uFFFD\uFFFD\n')
  expect(format({}, [output])).toBe(shown)
})
