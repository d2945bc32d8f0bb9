const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
}

/** Returns the value of a Kubernetes quantity such as `16Gi`, rounded up; 0 if the text is not a quantity. */
export function quantityValue(text: string): number {
  const match = /^([0-9]+(?:\.[0-9]+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/.exec(text)
  return match === null ? 0 : Math.ceil(Number(match[1]) * (UNITS[match[2] ?? ''] ?? 1))
}
