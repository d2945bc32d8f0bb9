/** The output of a step, as it leaves the container and as it may be stored. The checker computes both again and compares. */
import { draw, drawWithin, type FakeScript, type StepRun } from './script.ts'

const LONG_BYTES = 4_194_304

/** The text that the engine writes instead of a secret. */
const MASK = '*****'

/**
 * A secret in the encodings in which programs print it. Base64 comes without the surrounding bytes, so the length of the secret must be a multiple of
 * three bytes.
 */
export function leaksOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  if (bytes.length % 3 !== 0) throw new Error(`the secret has ${bytes.length} bytes, which is no multiple of 3`)
  const url = encodeURIComponent(secret)
  return [
    secret,
    bytes.toString('base64'),
    bytes.toString('base64url'),
    JSON.stringify(secret).slice(1, -1),
    asciiJson(secret),
    url,
    url.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    url.replaceAll('%20', '+'),
  ]
}

/** The encoding of programs that write ASCII-only JSON. */
export function asciiJson(text: string): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(/[\u0080-\uffff]/g, escape)
}

/**
 * Returns the output of a step: complete numbered lines. `raw` is what the container writes; `masked` is what may be stored, with every secret
 * replaced. Both are split into corresponding pieces.
 */
export function stepOutput(script: FakeScript, run: StepRun): { raw: Buffer; masked: Buffer } {
  const { seed } = script
  const ids = [run.buildId, run.attempt, run.step] as const
  const isLong = draw(seed, ...ids, 'long') < (script.longShare ?? 0)
  const bytes = isLong ? LONG_BYTES : drawWithin(script.logBytes, seed, ...ids, 'log')
  const leaks = script.leaks.flatMap(leaksOf)
  const line = `${run.buildId} ${run.attempt} ${run.step} ${Math.floor(draw(seed, ...ids) * 1e9)}`
  const raw: string[] = []
  const masked: string[] = []
  for (let length = 0, n = 0; length < bytes; n += 1) {
    const leak = leaks.length === 0 || n % 3 !== 0 ? undefined : leaks[(n / 3) % leaks.length]
    const text = `${n} ${line}`
    raw.push(leak === undefined ? `${text}\n` : `${text} token=${leak};\n`)
    masked.push(leak === undefined ? `${text}\n` : `${text} token=${MASK};\n`)
    length += raw.at(-1)?.length ?? 0
  }
  return { raw: Buffer.from(raw.join('')), masked: Buffer.from(masked.join('')) }
}
