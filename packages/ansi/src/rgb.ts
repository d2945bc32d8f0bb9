/** Colors as red, green and blue from 0 to 255, and their contrast by WCAG 2.2. */

export type Rgb = readonly [red: number, green: number, blue: number]

/** Reads `#rrggbb`. */
export function fromHex(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

/** Returns `#rrggbb`. */
export function toHex([red, green, blue]: Rgb): string {
  return `#${((1 << 24) | (red << 16) | (green << 8) | blue).toString(16).slice(1)}`
}

/** Returns the contrast of two colors, from 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function luminance([red, green, blue]: Rgb): number {
  return 0.2126 * toLinear(red) + 0.7152 * toLinear(green) + 0.0722 * toLinear(blue)
}

function toLinear(value: number): number {
  const part = value / 255
  return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
}

const BLACK: Rgb = [0, 0, 0]
const WHITE: Rgb = [255, 255, 255]
/** Steps of the bisection, each of which halves a range of 255. */
const STEPS = 8

/**
 * Returns the color with its lightness moved as little as needed for a contrast of `least` against the ground. It moves away from the ground if that
 * suffices. `least` is at most 4.58, which black or white has against any ground.
 */
export function readable(color: Rgb, ground: Rgb, least = 4.5): Rgb {
  if (contrast(color, ground) >= least) return color
  const ends = luminance(color) >= luminance(ground) ? [WHITE, BLACK] : [BLACK, WHITE]
  const end = ends.find((candidate) => contrast(candidate, ground) >= least) ?? WHITE
  let low = 0
  let high = 1
  for (let step = 0; step < STEPS; step += 1) {
    const middle = (low + high) / 2
    if (contrast(mix(color, end, middle), ground) >= least) high = middle
    else low = middle
  }
  return mix(color, end, high)
}

/** Returns the color between two, 0 for the first. */
export function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const between = (index: 0 | 1 | 2): number => Math.round(from[index] + (to[index] - from[index]) * share)
  return [between(0), between(1), between(2)]
}
