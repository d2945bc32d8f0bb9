/** What a style looks like in a theme. */
import { attributesOf, type Style } from './colors.ts'
import { fromHex, mix, readable, toHex, type Rgb } from './rgb.ts'

export type Theme = 'light' | 'dark'

export interface Look {
  /** `#rrggbb`; absent for the color of the theme. Its contrast with the background is 4.5 or more. */
  readonly color?: string
  readonly background?: string
  readonly bold: boolean
  readonly italic: boolean
  readonly underline: boolean
  readonly strike: boolean
  /** True for text that a terminal hides. A page shows it and says that it is hidden. */
  readonly hidden: boolean
}

interface Palette {
  readonly ground: string
  readonly text: string
  /** Colors 0 to 15. */
  readonly colors: readonly string[]
}

const hexes = (text: string): readonly string[] => text.split(' ').map((hex) => `#${hex}`)

/** Colors of a log. Each has a contrast of 4.5 or more with the ground. */
export const PALETTES: Readonly<Record<Theme, Palette>> = {
  light: {
    ground: '#f9fafc',
    text: '#202730',
    colors: hexes(
      '2a2e33 b7191c 02703f 825b02 0159ae 8e3394 026c7f 65696f 666c75 c90f1a 187a3b 8d5e00 0462d3 a132a9 047685 1e2226',
    ),
  },
  dark: {
    ground: '#090c11',
    text: '#dadee3',
    colors: hexes(
      '82878c f66d62 61cb7c e5c057 64a1ee da87de 55cee1 ced1d5 8d939a fe9088 74e791 f5df74 8fbefa ecafef 8ce9f4 f4f5f7',
    ),
  },
}

/** How far faint text moves towards its background before its contrast is restored. */
const FAINT = 0.4

/** Returns the look of a style. Inverse text swaps text and background. Blinking text does not blink. */
export function lookOf(style: Style, theme: Theme): Look {
  const attributes = attributesOf(style)
  const has = (name: string): boolean => attributes.has(name)
  return {
    ...colorsOf(attributes, theme),
    bold: has('bold'),
    italic: has('italic'),
    underline: has('underline'),
    strike: has('strike'),
    hidden: has('hidden'),
  }
}

function colorsOf(attributes: ReadonlyMap<string, string>, theme: Theme): { color?: string; background?: string } {
  const { ground, text } = PALETTES[theme]
  const isInverse = attributes.has('inverse')
  const colors = [colorOf(attributes.get('foreground'), theme), colorOf(attributes.get('background'), theme)]
  const [front, back] = isInverse ? [colors[1] ?? fromHex(ground), colors[0] ?? fromHex(text)] : colors
  if (front === undefined && back === undefined && !attributes.has('faint')) return {}
  const behind = back ?? fromHex(ground)
  const before = front ?? fromHex(text)
  const color = toHex(readable(attributes.has('faint') ? mix(before, behind, FAINT) : before, behind))
  return back === undefined ? { color } : { color, background: toHex(back) }
}

/** Reads the parameters of a color: `31`, `97`, `38;5;N`, `38;2;R;G;B`, or the last two with colons. Returns undefined for none and for wrong ones. */
function colorOf(parameters: string | undefined, theme: Theme): Rgb | undefined {
  if (parameters === undefined) return undefined
  const [code = 0, kind, ...values] = parameters.split(/[;:]/).map(Number)
  if (code !== 38 && code !== 48) return paletteColor((code % 10) + (code >= 90 ? 8 : 0), theme)
  if (kind === 5) return indexedColor(values[0], theme)
  // With colons, the values follow the number of a color space, which is often left out.
  const [red, green, blue] = parameters.includes(':') && values.length > 3 ? values.slice(1) : values
  return kind === 2 && isByte(red) && isByte(green) && isByte(blue) ? [red, green, blue] : undefined
}

function isByte(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value >= 0 && value <= 255
}

function paletteColor(index: number, theme: Theme): Rgb | undefined {
  const hex = PALETTES[theme].colors[index]
  return hex === undefined ? undefined : fromHex(hex)
}

/** Levels of red, green and blue in the cube of colors 16 to 231. */
const LEVELS = [0, 95, 135, 175, 215, 255] as const

/** Returns a color of the 256: those of the theme, a cube of 6 × 6 × 6, and 24 grays. */
function indexedColor(index: number | undefined, theme: Theme): Rgb | undefined {
  if (!isByte(index)) return undefined
  if (index < 16) return paletteColor(index, theme)
  if (index >= 232) {
    const gray = 8 + (index - 232) * 10
    return [gray, gray, gray]
  }
  const level = (step: number): number => LEVELS[Math.floor((index - 16) / step) % 6] ?? 0
  return [level(36), level(6), level(1)]
}
