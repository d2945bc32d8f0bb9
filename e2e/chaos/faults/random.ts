/** Reproducible random numbers: the same seed gives the same sequence (mulberry32). */
export interface Random {
  readonly seed: number
  /** At least 0, below 1. */
  next(): number
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** True with probability `p`. */
  chance(p: number): boolean
  pick<T>(list: readonly T[]): T
  /** An independent generator, so that one part of a run does not change the numbers of another. */
  fork(name: string): Random
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    seed,
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (p) => next() < p,
    pick(list) {
      const item = list[Math.floor(next() * list.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
    fork: (name) => seededRandom(hash(name, seed)),
  }
}

function hash(text: string, seed: number): number {
  let value = seed ^ 0x811c9dc5
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return value >>> 0
}
