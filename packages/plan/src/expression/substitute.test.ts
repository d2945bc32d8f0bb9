import fc from 'fast-check'
import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../test/cpu-time.ts'
import { exactReference, findReferences, substitute } from './substitute.ts'
import type { Scope } from './substitute.ts'

function scopeOf(values: Record<string, string>): Scope {
  return { lookup: (name) => (Object.hasOwn(values, name) ? values[name] : undefined) }
}

test('replaces references anywhere in a text', () => {
  const scope = scopeOf({ A: 'one', B: 'two' })
  expect(substitute('${{A}}-${{B}} and ${{A}}', scope).text).toBe('one-two and one')
})

test('keeps an unknown name in the text and reports it (P117)', () => {
  expect(substitute('x ${{NOPE}} y ${{A}}', scopeOf({ A: '1' }))).toEqual({
    text: 'x ${{NOPE}} y 1',
    unresolved: ['NOPE'],
    overflow: false,
  })
})

test('a reference is the shortest match with at least one character', () => {
  expect(findReferences('${{a}}}} ${{}} ${{b}}').map(({ name }) => name)).toEqual(['a', '}} ${{b'])
  expect(findReferences('${{a${{b}}').map(({ name }) => name)).toEqual(['a${{b'])
  expect(findReferences('${{ open').length).toBe(0)
})

test('ignores white space around a name', () => {
  expect(substitute('${{ A }}', scopeOf({ A: 'one' })).text).toBe('one')
})

test('substitutes references in values, ten levels deep', () => {
  const chain = (length: number) =>
    Object.fromEntries(Array.from({ length }, (_, n) => [`V${n}`, n === length - 1 ? 'end' : `\${{V${n + 1}}}`]))
  expect(substitute('${{V0}}', scopeOf(chain(10))).text).toBe('end')
  expect(substitute('${{V0}}', scopeOf(chain(11))).text).toBe('${{V10}}')
})

test('keeps a reference that leads back to itself', () => {
  expect(substitute('${{A}}', scopeOf({ A: 'a ${{B}}', B: 'b ${{A}}' })).text).toBe('a b ${{A}}')
  expect(substitute('${{PATH}}', scopeOf({ PATH: '/x:${{PATH}}' })).text).toBe('/x:${{PATH}}')
})

test('stops values that multiply each other before they exhaust memory', () => {
  const bomb = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`L${n}`, `\${{L${n + 1}}}`.repeat(10)]))
  const { text, overflow } = substitute('${{L0}}', scopeOf({ ...bomb, L10: 'x'.repeat(1000) }))
  expect(overflow).toBe(true)
  expect(text.length).toBeLessThan(8_000_000)
})

test('never treats a value as a replacement pattern', () => {
  expect(substitute('<${{A}}>', scopeOf({ A: "$& $1 $' $$" })).text).toBe("<$& $1 $' $$>")
})

test('exactReference returns the name if the text has nothing else', () => {
  expect([exactReference('${{A}}'), exactReference(' ${{A}}'), exactReference('${{A}}${{B}}'), exactReference('A')]).toEqual([
    'A',
    undefined,
    undefined,
    undefined,
  ])
})

test('substitution ends for any text and values, and keeps text without references', () => {
  const name = fc.constantFrom('A', 'B', 'C', 'D')
  const piece = fc.oneof(
    name.map((one) => `\${{${one}}}`),
    fc.string({ maxLength: 5 }),
    fc.constantFrom('${{', '}}', '$', '{', '}'),
  )
  const text = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, fc.dictionary(name, text), (template, values) => {
      const filled = substitute(template, scopeOf(values))
      if (findReferences(template).length === 0) expect(filled.text).toBe(template)
    }),
    { numRuns: 500 },
  )
})

test('finding references takes linear time', () => {
  expect(growth(25_000, (n) => substitute('${{'.repeat(n), scopeOf({})))).toBeLessThan(LINEAR)
  expect(growth(12_500, (n) => substitute('${{x}}'.repeat(n), scopeOf({})))).toBeLessThan(LINEAR)
})
