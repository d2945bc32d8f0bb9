/** Texts of other services in the form that reports take. */

/** Returns the first line, without control characters; undefined for an empty one. */
export function oneLine(text: string | undefined, max: number): string | undefined {
  const line = (text?.trim().split('\n')[0] ?? '').replaceAll(/\p{Cc}/gu, ' ').trim()
  return line === '' ? undefined : line.slice(0, max)
}

/** Returns the address of a page; undefined for another text. */
export function toWebAddress(text: string | undefined): string | undefined {
  return text !== undefined && text.length <= 2_000 && /^https?:\/\/[^\s\p{Cc}]+$/u.test(text) ? text : undefined
}
