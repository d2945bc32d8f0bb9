/** Folders that layer caches of type `local` use (docs.docker.com, "Local cache"). */

/**
 * Returns the paths in entries such as `type=local,src=cache`. As in buildx, field names are case-insensitive and fields may be quoted (RFC 4180).
 */
export function localCachePaths(entries: readonly string[]): string[] {
  return entries.flatMap((entry) => {
    const text = entry.replaceAll('"', '')
    return /type=local/i.test(text) ? Array.from(text.matchAll(/(?:src|dest)=([^,]+)/gi), ([, path = '']) => path.trim()) : []
  })
}
