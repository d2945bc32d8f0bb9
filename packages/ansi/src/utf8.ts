/** Returns the largest length up to `most` at which no UTF-8 character is cut; the length of the bytes if they are not longer than that. */
export function charBoundary(bytes: Uint8Array, most: number): number {
  if (bytes.length <= most) return bytes.length
  let length = most
  while (length > 0 && length > most - 3 && ((bytes[length] ?? 0) & 0xc0) === 0x80) length -= 1
  return length
}
