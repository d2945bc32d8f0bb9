/** Links in output: http and https only. */

/** Longer addresses are no links. Characters. */
const MAX_ADDRESS = 2_000
const ADDRESS = /https?:\/\/[^\s<>"'`{}|\\^]{1,2000}/gi
/** Characters that belong to the sentence around an address, not to it. */
const AFTER_ADDRESS = /[.,;:!?)\]*]+$/
/** With the limits of host names, which also limit the work for a hostile text. */
const HOST = /(?<![a-z\d-])(?:[a-z\d][a-z\d-]{0,62}\.){1,10}[a-z]{2,63}/i

/** Returns the address in its normal form if a page may link to it. */
export function webAddress(text: string): string | undefined {
  if (text.length > MAX_ADDRESS) return undefined
  const url = URL.parse(text)
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url.href : undefined
}

/** Splits a text into addresses and the text between them. */
export function splitAddresses(text: string): { text: string; link?: string }[] {
  if (!text.includes('://')) return text === '' ? [] : [{ text }]
  const parts: { text: string; link?: string }[] = []
  let from = 0
  for (const match of text.matchAll(ADDRESS)) {
    const address = trimmed(match[0])
    const link = webAddress(address)
    if (link === undefined) continue
    if (match.index > from) parts.push({ text: text.slice(from, match.index) })
    parts.push({ text: address, link })
    from = match.index + address.length
  }
  if (from < text.length) parts.push({ text: text.slice(from) })
  return parts
}

/** Removes punctuation from the end. A closing parenthesis stays if the address opens it. */
function trimmed(address: string): string {
  const end = AFTER_ADDRESS.exec(address)
  if (end === null) return address
  const closes = address.includes('(') && end[0].startsWith(')') ? 1 : 0
  return address.slice(0, end.index + closes)
}

/** Returns the host of a link if its text names another one, so that a page can show both. */
export function foreignHost({ text, link }: { text: string; link?: string }): string | undefined {
  if (link === undefined) return undefined
  const { hostname, host } = new URL(link)
  const named = HOST.exec(text)?.[0]
  return named !== undefined && named.toLowerCase() !== hostname ? host : undefined
}
