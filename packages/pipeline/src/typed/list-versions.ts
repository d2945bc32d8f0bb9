/** Number of versions that a message names. */
const MAX_LISTED = 10

/** Returns the end of a hint that names the known versions of a step type, the latest first. Empty if none is known. */
export function listVersions(versions: readonly string[]): string {
  if (versions.length === 0) return ''
  const more = versions.length > MAX_LISTED ? ` and ${versions.length - MAX_LISTED} more` : ''
  return ` Known version${versions.length === 1 ? '' : 's'}: ${versions.slice(0, MAX_LISTED).join(', ')}${more}.`
}
