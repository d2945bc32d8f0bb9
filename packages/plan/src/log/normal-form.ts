/**
 * The normal form of lines of logs: what is left without numbers, ids, times and paths. Two runs of the same command have the same normal forms,
 * whatever their times and temporary files are.
 */

import { keyedHash, type HashKey } from './keyed-hash.ts'

/** Stands for numbers, hexadecimal ids, times and sizes; and for paths. */
const NUMBER = '#'.charCodeAt(0)
const PATH = '/'.charCodeAt(0)
const SPACE = ' '.charCodeAt(0)
/** Characters of a line that count. */
const MAX_LENGTH = 4_096

/** Classes of characters: other, letter, digit, joiner of a word, separator of a path. */
const [OTHER, LETTER, DIGIT, JOINER, SEPARATOR] = [0, 1, 2, 3, 4]
const CLASSES = new Uint8Array(128)
for (let code = 0; code < 128; code += 1) {
  const text = String.fromCharCode(code)
  if (/[A-Za-z]/.test(text)) CLASSES[code] = LETTER
  else if (/\d/.test(text)) CLASSES[code] = DIGIT
  else if (/[-._~]/.test(text)) CLASSES[code] = JOINER
  else if (/[\\/]/.test(text)) CLASSES[code] = SEPARATOR
}
const HEX_LETTERS = new Uint8Array(128)
for (const letter of 'abcdefABCDEF') HEX_LETTERS[letter.charCodeAt(0)] = 1
/** A word of so many hexadecimal letters is an id. */
const MIN_HEX = 8

/** Words that belong to the number before them. */
const UNITS = new Set(
  'ns us ms s sec secs second seconds m min mins minute minutes h hr hrs hour hours d day days B kB KB MB GB TB KiB MiB GiB TiB K M G k AM PM am pm UTC GMT'.split(
    ' ',
  ),
)
const MAX_UNIT = 7
/** Names in dates. */
const DATE_NAMES = new Set('Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' '))

/** Makes normal forms. One object is used for many lines. */
export class NormalForm {
  readonly #codes = new Uint16Array(MAX_LENGTH)
  #length = 0
  #high = 0
  #low = 0

  /** Reads the line between two indexes of a text, without its line feed. */
  read(text: string, start: number, end: number): void {
    this.#length = 0
    const stop = Math.min(end, start + MAX_LENGTH)
    for (let at = start; at < stop;) {
      const code = text.charCodeAt(at)
      if (code < 128 && CLASSES[code] !== OTHER) at = this.#word(text, at, stop)
      else {
        this.#sign(code <= SPACE ? SPACE : code)
        at += 1
      }
    }
    if (this.#length > 0 && this.#codes[this.#length - 1] === SPACE) this.#length -= 1
  }

  /** False for a line without text. */
  get isEmpty(): boolean {
    return this.#length === 0
  }

  get text(): string {
    return String.fromCharCode(...this.#codes.subarray(0, this.#length))
  }

  /** Computes the hash under a key, which `high` and `low` then return. */
  hash(key: HashKey): void {
    ;[this.#high, this.#low] = keyedHash(this.#codes, this.#length, key)
  }

  /** The two halves of the hash. Unsigned 32-bit integers. */
  get high(): number {
    return this.#high
  }

  get low(): number {
    return this.#low
  }

  /** Reads a word and returns where it ends. */
  #word(text: string, start: number, stop: number): number {
    const from = this.#length
    let [letters, digits, hex, separators] = [0, 0, 0, 0]
    let at = start
    for (; at < stop; at += 1) {
      const code = text.charCodeAt(at)
      const kind = code < 128 ? (CLASSES[code] ?? OTHER) : OTHER
      if (kind === OTHER) break
      if (kind === LETTER) {
        letters += 1
        hex += HEX_LETTERS[code] ?? 0
      } else if (kind === DIGIT) digits += 1
      else if (kind === SEPARATOR) separators += 1
      this.#codes[this.#length] = code
      this.#length += 1
    }
    const length = at - start
    if (letters + digits === 0) this.#signs(from)
    else if (separators > 0 && letters > 0) this.#replace(this.#isDrive(from) ? from - 2 : from, PATH)
    else if (digits > 0 || (hex === letters && letters >= MIN_HEX)) this.#number(from)
    else if (length === 3 && DATE_NAMES.has(text.slice(start, at))) this.#number(from)
    else if (length <= MAX_UNIT && this.#followsNumber(from) && UNITS.has(text.slice(start, at)))
      this.#length = this.#codes[from - 1] === NUMBER ? from : from - 1
    return at
  }

  /** Returns true after the `C:` of a Windows path. */
  #isDrive(from: number): boolean {
    if (from < 2 || this.#codes[from - 1] !== 0x3a) return false
    const [drive = 0, before = SPACE] = [this.#codes[from - 2], this.#codes[from - 3]]
    return CLASSES[drive] === LETTER && CLASSES[before] !== LETTER
  }

  #followsNumber(from: number): boolean {
    return this.#codes[from - 1] === NUMBER || (this.#codes[from - 1] === SPACE && this.#codes[from - 2] === NUMBER)
  }

  #replace(from: number, code: number): void {
    this.#codes[from] = code
    this.#length = from + 1
  }

  /** Replaces a word by the sign of a number. Parts of dates, times and large numbers become one. */
  #number(from: number): void {
    const before = from > 0 ? (this.#codes[from - 1] ?? 0) : 0
    const isJoined = before === SPACE || before === 0x3a || before === 0x2c
    if (from > 0 && before === NUMBER) this.#length = from
    else if (isJoined && from > 1 && this.#codes[from - 2] === NUMBER) this.#length = from - 1
    else this.#replace(from, NUMBER)
  }

  /** Takes a word of joiners and separators as signs. */
  #signs(from: number): void {
    const signs = this.#codes.slice(from, this.#length)
    this.#length = from
    for (const code of signs) this.#sign(code)
  }

  /** Adds a sign, unless it repeats the one before it. */
  #sign(code: number): void {
    if (this.#length === 0 ? code === SPACE : this.#codes[this.#length - 1] === code) return
    this.#codes[this.#length] = code
    this.#length += 1
  }
}

/** Returns the normal form of a line of visible text. */
export function normalForm(line: string): string {
  const form = new NormalForm()
  form.read(line, 0, line.length)
  return form.text
}
