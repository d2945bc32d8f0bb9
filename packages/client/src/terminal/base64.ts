/** Base64 without Node, for pages. */

/** Bytes that are converted at once, because each becomes an argument of a call. */
const BLOCK = 8_192

/** Encodes bytes. */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += BLOCK) text += String.fromCharCode(...bytes.subarray(at, at + BLOCK))
  return btoa(text)
}

/** Decodes a text. Throws for one that is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}
