import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lookOf, PALETTES, type Theme } from './look.ts'
import { contrast, fromHex, readable, toHex, type Rgb } from './rgb.ts'

const THEMES: readonly Theme[] = ['light', 'dark']

/** Returns the contrast of the text of a style with what is behind it. */
function contrastOf(style: string, theme: Theme): number {
  const { color, background } = lookOf(style, theme)
  const { ground, text } = PALETTES[theme]
  return contrast(fromHex(color ?? text), fromHex(background ?? ground))
}

test.each(THEMES)('each of the 16 colors has a contrast of 4.5 in the %s theme, also in pairs (W058)', (theme) => {
  const fronts = [
    ...Array.from({ length: 8 }, (_, n) => [30 + n, 90 + n])
      .flat()
      .map(String),
    '',
  ]
  const backs = [
    ...Array.from({ length: 8 }, (_, n) => [40 + n, 100 + n])
      .flat()
      .map(String),
    '',
  ]
  for (const front of fronts)
    for (const back of backs)
      for (const more of ['', '2', '7', '2;7']) {
        const style = [front, back, more].filter((part) => part !== '').join(';')
        expect(contrastOf(style, theme), style).toBeGreaterThanOrEqual(4.5)
      }
})

test('any two colors have a contrast of 4.5 in both themes (W058)', () => {
  const byte = fc.nat(255)
  const color = fc.oneof(
    byte.map((index) => `5;${index}`),
    fc.tuple(byte, byte, byte).map((parts) => `2;${parts.join(';')}`),
  )
  fc.assert(
    fc.property(fc.option(color), fc.option(color), fc.subarray(['2', '7']), (front, back, more) => {
      const style = [...(front === null ? [] : [`38;${front}`]), ...(back === null ? [] : [`48;${back}`]), ...more].join(';')
      for (const theme of THEMES) expect(contrastOf(style, theme)).toBeGreaterThanOrEqual(4.5)
    }),
    { numRuns: 3_000 },
  )
})

test('the color of the text of the theme has a contrast of 4.5', () => {
  for (const theme of THEMES) expect(contrastOf('', theme)).toBeGreaterThanOrEqual(4.5)
})

test('a color that is readable does not change, and the others keep to their side', () => {
  expect(readable([0, 0, 0], [255, 255, 255])).toEqual([0, 0, 0])
  const [red, green, blue] = readable([255, 200, 200], [255, 255, 255])
  expect(red).toBeLessThan(255)
  expect(green).toBe(blue)
  expect(readable([80, 0, 0], [0, 0, 0])[0]).toBeGreaterThan(80)
})

test.each([
  ['38;5;1', '31'],
  ['38;5;9', '91'],
  ['38;5;16', '38;2;0;0;0'],
  ['38;5;196', '38;2;255;0;0'],
  ['38;5;231', '38;2;255;255;255'],
  ['38;5;255', '38;2;238;238;238'],
  ['38:2::10:20:30', '38;2;10;20;30'],
  ['38:2:10:20:30', '38;2;10;20;30'],
  ['38:5:196', '38;5;196'],
])('%s and %s are one color', (one, other) => {
  for (const theme of THEMES) expect(lookOf(one, theme)).toEqual(lookOf(other, theme))
})

test.each(['38;5;256', '38;2;1;2;999', '38;5', '38:7:1', '38'])('%s is not a color', (style) => {
  expect(lookOf(style, 'light').color).toBeUndefined()
})

test('inverse text swaps the colors of the theme', () => {
  const { ground, text } = PALETTES.dark
  expect(lookOf('7', 'dark')).toMatchObject({ color: ground, background: text })
})

test('colors are written as they are read', () => {
  const byte = fc.nat(255)
  fc.assert(
    fc.property(fc.tuple(byte, byte, byte), (color: Rgb) => {
      expect(fromHex(toHex(color))).toEqual(color)
    }),
  )
})
