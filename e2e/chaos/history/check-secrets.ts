/** Invariant 10: no secret in logs, events, records or any other text of a run. */
import type { FeedItem } from '@windlass/protocol'
import type { History, Violation } from './history.ts'

/** 10: every source is read as bytes, so that secrets in any encoding are detected. */
export function* checkSecrets(history: History): Generator<Violation> {
  const needles = history.secrets.flatMap(formsOf)
  for (const build of history.builds) {
    const { feed, logs, ...record } = build
    const places = [
      { where: 'the build record', text: bytesOf(JSON.stringify(record)) },
      { where: 'its events', text: bytesOf(JSON.stringify(feed.filter(isEvent))) },
      ...Object.entries(logs).map(([key, log]) => ({ where: `log ${key}`, text: Buffer.from(log, 'base64').toString('latin1') })),
    ]
    for (const message of found(places, needles)) yield { invariant: 10, buildId: build.id, message }
  }
  for (const message of found(history.texts, needles)) yield { invariant: 10, message }
}

interface Needle {
  readonly form: string
  readonly bytes: string
}

/**
 * The forms in which a secret may appear in a text. Base64 is searched at each of its three alignments, without the characters that depend on the
 * surrounding bytes. A dump of PostgreSQL shows bytes in hex; a log in JSON may contain JSON in a string.
 */
function formsOf(secret: string): Needle[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const ascii = json.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const url = encodeURIComponent(secret)
  const forms: Record<string, string[]> = {
    plain: [secret],
    JSON: [json, JSON.stringify(json).slice(1, -1), ascii, JSON.stringify(ascii).slice(1, -1)],
    URL: [url, url.toLowerCase(), url.replaceAll('%20', '+')],
    base64: [0, 1, 2].flatMap((shift) => {
      const core = base64Core(Buffer.from(secret), shift)
      return [core, core.replaceAll('+', '-').replaceAll('/', '_')]
    }),
    hex: [Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('hex').toUpperCase()],
  }
  const needles = Object.entries(forms).flatMap(([form, texts]) => texts.map((text) => ({ form, bytes: bytesOf(text) })))
  return [...needles, { form: 'latin1', bytes: Buffer.from(secret, 'latin1').toString('latin1') }]
}

/** Returns the base64 of a secret after `shift` other bytes, as far as it depends only on the secret. */
function base64Core(secret: Buffer, shift: number): string {
  const bytes = Buffer.concat([Buffer.alloc(shift), secret])
  const text = bytes.toString('base64').replace(/=+$/, '')
  return text.slice(Math.ceil((shift * 8) / 6), Math.floor((bytes.length * 8) / 6))
}

/** Returns the UTF-8 bytes of a text, one character per byte. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function isEvent(item: FeedItem): boolean {
  return item.kind === 'event'
}

function* found(places: readonly { where: string; text: string }[], needles: readonly Needle[]): Generator<string> {
  for (const { where, text } of places) {
    const needle = needles.find(({ bytes }) => text.includes(bytes))
    if (needle !== undefined) yield `a secret is in ${where} (${needle.form})`
  }
}
