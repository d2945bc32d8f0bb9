/** Returns true if the header If-None-Match contains the ETag, strong or weak, or `*`. */
export function isKnownTag(header: string | undefined, etag: string): boolean {
  const known = header?.split(',').map((text) => text.trim().replace(/^W\//, '')) ?? []
  return known.includes(etag) || known.includes('*')
}
