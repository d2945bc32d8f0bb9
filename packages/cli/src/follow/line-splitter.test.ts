import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lineSplitter, tameLine } from './line-splitter.ts'

test('lines are the same wherever the chunks are cut', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), fc.array(fc.nat(20)), (words, sizes) => {
      const lines = words.map((word) => word.replaceAll(/[\r\n]/g, ''))
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
      const splitter = lineSplitter()
      const found: string[] = []
      let at = 0
      for (let n = 0; at < bytes.length; n += 1) {
        const size = (sizes[n % Math.max(1, sizes.length)] ?? 0) + 1
        found.push(...splitter.push(bytes.subarray(at, at + size)).map(String))
        at += size
      }
      expect(found).toEqual(lines)
      expect(splitter.flush()).toBeUndefined()
    }),
  )
})

test('what stands after the last line end comes once, by flush', () => {
  const splitter = lineSplitter()
  expect(splitter.push(Buffer.from('a\r\nb')).map(String)).toEqual(['a'])
  expect(splitter.flush()?.toString()).toBe('b')
  expect(splitter.flush()).toBeUndefined()
})

test('output without line ends is shown in parts instead of being kept', () => {
  const splitter = lineSplitter()
  expect(splitter.push(Buffer.alloc(200_000, 'x')).map(({ length }) => length)).toEqual([65_536, 65_536, 65_536])
})

test('a tame line keeps colours and loses whatever moves the cursor, sets titles or rings', () => {
  expect(tameLine('\u001B[31mred\u001B[0m')).toBe('\u001B[31mred\u001B[0m')
  expect(tameLine('\u001B[2J\u001B[1;1Hgone\u0007')).toBe('gone')
  expect(tameLine('\u001B]0;title\u0007text\u001B]52;c;aGk=\u001B\\')).toBe('text')
  expect(tameLine('\u001Bcreset')).toBe('reset')
  expect(tameLine('tab\tstays')).toBe('tab\tstays')
})

test('of a line that redraws itself the last state is shown', () => {
  expect(tameLine('10%\r50%\r100%')).toBe('100%')
  expect(tameLine('done\r')).toBe('done')
})
