/** Writes DER (X.690), as far as certificates need it. Each function returns the bytes of one value: tag, length, content. */

function value(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body])
}

function lengthOf(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.from([bytes])
  if (bytes < 0x100) return Buffer.from([0x81, bytes])
  return Buffer.from([0x82, bytes >> 8, bytes & 0xff])
}

export function sequence(...items: readonly Buffer[]): Buffer {
  return value(0x30, ...items)
}

export function set(...items: readonly Buffer[]): Buffer {
  return value(0x31, ...items)
}

/** A number as big-endian bytes; the highest bit of the first byte is the sign. */
export function integer(bytes: Buffer): Buffer {
  return value(0x02, bytes)
}

export function bool(is: boolean): Buffer {
  return value(0x01, Buffer.from([is ? 0xff : 0]))
}

/** Ignores `unused` bits at the end of the last byte. */
export function bitString(bytes: Buffer, unused = 0): Buffer {
  return value(0x03, Buffer.from([unused]), bytes)
}

export function octets(bytes: Buffer): Buffer {
  return value(0x04, bytes)
}

export function utf8(text: string): Buffer {
  return value(0x0c, Buffer.from(text, 'utf8'))
}

/** An object identifier such as `2.5.4.3`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return value(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(arc: number): number[] {
  const digits = [arc & 0x7f]
  for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) digits.unshift((left & 0x7f) | 0x80)
  return digits
}

/** A time of RFC 5280: with a two-digit year until 2049, and a four-digit year from 2050. */
export function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '')
  return Number(digits.slice(0, 4)) < 2050 ? value(0x17, Buffer.from(digits.slice(2))) : value(0x18, Buffer.from(digits))
}

/** A constructed value with a context-specific tag. */
export function explicit(tag: number, content: Buffer): Buffer {
  return value(0xa0 + tag, content)
}

/** A primitive value with a context-specific tag. */
export function context(tag: number, content: Buffer): Buffer {
  return value(0x80 + tag, content)
}

/** Returns DER bytes as PEM. */
export function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
