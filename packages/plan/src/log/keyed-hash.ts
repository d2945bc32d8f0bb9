/**
 * The 64-bit hash HalfSipHash-1-3 of UTF-16 text (Aumasson and Bernstein, "SipHash: a fast short-input PRF"; the variant for 32-bit processors). It is made
 * for hash tables of texts that others choose: without the key nobody can find texts with equal or similar hashes.
 */

/** Two 32-bit integers. */
export type HashKey = readonly [number, number]

/** Rounds after the text for each half of the hash. */
const FINAL_ROUNDS = 3

/** Returns the hash of the first `length` code units. Unsigned 32-bit integers. */
export function keyedHash(codes: Uint16Array, length: number, [k0, k1]: HashKey): [high: number, low: number] {
  const words = Math.floor(length / 2) + 1
  let [a, b, c, d] = [k0 | 0, k1 ^ 0xee, k0 ^ 0x6c796765, k1 ^ 0x74656462]
  let high = 0
  for (let round = 0; round < words + 2 * FINAL_ROUNDS; round += 1) {
    if (round === words) c ^= 0xee
    if (round === words + FINAL_ROUNDS) {
      high = b ^ d
      b ^= 0xdd
    }
    const word = round < words ? wordAt(codes, length, round) : 0
    d ^= word
    a = (a + b) | 0
    b = rotate(b, 5) ^ a
    a = rotate(a, 16)
    c = (c + d) | 0
    d = rotate(d, 8) ^ c
    a = (a + d) | 0
    d = rotate(d, 7) ^ a
    c = (c + b) | 0
    b = rotate(b, 13) ^ c
    c = rotate(c, 16)
    a ^= word
  }
  return [high >>> 0, (b ^ d) >>> 0]
}

/** Returns two code units as a word. The last word has the length in bytes in its highest byte. */
function wordAt(codes: Uint16Array, length: number, index: number): number {
  const at = index * 2
  if (at + 1 < length) return (codes[at] ?? 0) | ((codes[at + 1] ?? 0) << 16)
  return (at < length ? (codes[at] ?? 0) : 0) | ((length * 2) << 24)
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}
