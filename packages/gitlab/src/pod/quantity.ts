/** Quantities of Kubernetes, as numbers that can be compared. */

const UNITS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** Returns the number of a quantity such as `500m` or `1Gi`; undefined if the text is none. */
export function parseQuantity(text: string): number | undefined {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?$/.exec(text.trim())
  if (match === null) return undefined
  const [, digits = '', unit = '', exponent] = match
  const factor = exponent === undefined ? UNITS[unit] : 10 ** Number(exponent)
  return factor === undefined ? undefined : Number(digits) * factor
}
