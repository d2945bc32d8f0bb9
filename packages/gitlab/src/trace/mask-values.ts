/**
 * Masks what follows a marker: the rest of a token after its prefix, and the values of parameters of URLs. The marker stays visible, and its value becomes
 * `[MASKED]`. Rules of the trace of GitLab.
 */

/** The replacement of a value. */
export const MASKED = '[MASKED]'

/** Parameters of URLs whose values are secrets, in any case. */
const URL_PARAMETERS = [
  'private_token',
  'authenticity_token',
  'rss_token',
  'x-amz-signature',
  'x-amz-credential',
  'x-amz-security-token',
  'x-goog-signature',
  'x-goog-credential',
  // Azure.
  'sig',
] as const

/** Prefixes of the tokens of GitLab. */
const TOKEN_PREFIXES = [
  'glpat-',
  'gloas-',
  'gldt-',
  'glrt-',
  'glcbt-',
  'glrtr-',
  'glptt-',
  'glft-',
  'glimt-',
  'glagent-',
  'glsoat-',
  'glffct-',
  '_gitlab_session=',
  'gltok-',
] as const

/** The server can name this many further prefixes. */
const MAX_SERVER_PREFIXES = 15
const MAX_PREFIX_CHARS = 64

export interface ValueRule {
  /** Texts before a value; their bytes as characters. */
  readonly markers: readonly string[]
  /** True if the case of a marker does not matter. Then the markers are in lower case. */
  readonly isFolded: boolean
  /** Characters of a value, as a class of a regular expression. */
  readonly value: string
}

/** The values of parameters of URLs. */
export const URL_VALUES: ValueRule = {
  markers: URL_PARAMETERS.flatMap((name) => [`?${name}=`, `&${name}=`]),
  isFolded: true,
  value: '[^\\s&"\'<>#;]',
}

/**
 * Returns the rule for tokens. `serverPrefixes` are those of the server: `features.token_mask_prefixes` of the job. Without `masksAll`, only those and
 * personal access tokens are masked.
 */
export function tokenValues(serverPrefixes: readonly string[], masksAll = true): ValueRule {
  const own = masksAll ? TOKEN_PREFIXES : TOKEN_PREFIXES.slice(0, 1)
  const further = serverPrefixes.filter(({ length }) => length > 0 && length <= MAX_PREFIX_CHARS).slice(0, MAX_SERVER_PREFIXES)
  // A longer prefix comes before a shorter one that begins it.
  const markers = [...own, ...further.map(asBytes)].toSorted((a, b) => b.length - a.length)
  return { markers, isFolded: false, value: '[\\w.=-]' }
}

/** Returns the bytes of a text as characters, which is how chunks are read. */
function asBytes(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** Masks the values of one rule in a stream of bytes. Only bytes that may begin a marker are held back. */
export class ValueMasker {
  readonly #rule: ValueRule
  readonly #marker: RegExp
  readonly #value: RegExp
  readonly #longest: number
  #held = ''
  /** True after a marker: what follows is its value until another character comes. */
  #isInValue = false

  constructor(rule: ValueRule) {
    this.#rule = rule
    this.#marker = new RegExp(rule.markers.map((marker) => RegExp.escape(marker)).join('|'), rule.isFolded ? 'gi' : 'g')
    this.#value = new RegExp(`${rule.value}*`, 'y')
    this.#longest = Math.max(...rule.markers.map(({ length }) => length))
  }

  push(bytes: Buffer): Buffer {
    const text = this.#held + bytes.toString('latin1')
    const cut = text.length - this.#openLength(text)
    this.#held = text.slice(cut)
    return this.#mask(text.slice(0, cut))
  }

  /** Ends the stream. Returns the bytes that were held back. */
  end(): Buffer {
    const rest = this.#mask(this.#held)
    this.#held = ''
    this.#isInValue = false
    return rest
  }

  #mask(text: string): Buffer {
    const parts: string[] = []
    let from = this.#isInValue ? this.#endOfValue(text, 0) : 0
    if (from < text.length) this.#isInValue = false
    this.#marker.lastIndex = from
    for (let match = this.#marker.exec(text); match !== null; match = this.#marker.exec(text)) {
      const start = match.index + match[0].length
      parts.push(text.slice(from, start), MASKED)
      from = this.#endOfValue(text, start)
      this.#isInValue = from === text.length
      this.#marker.lastIndex = from
    }
    parts.push(text.slice(from))
    return Buffer.from(parts.join(''), 'latin1')
  }

  #endOfValue(text: string, start: number): number {
    this.#value.lastIndex = start
    return start + (this.#value.exec(text)?.[0].length ?? 0)
  }

  /** Returns how many characters at the end may begin a marker that later bytes complete. */
  #openLength(text: string): number {
    const { markers, isFolded } = this.#rule
    const tail = isFolded ? text.slice(1 - this.#longest).toLowerCase() : text.slice(1 - this.#longest)
    for (let from = 0; from < tail.length; from += 1) {
      const start = tail.slice(from)
      if (markers.some((marker) => marker.length > start.length && marker.startsWith(start))) return start.length
    }
    return 0
  }
}
