/** Versions of applications, as far as their images say them. */

/** Returns the tag that all images have; undefined if they differ or have none. */
export function versionOf(images: readonly string[]): string | undefined {
  return commonVersion(images.map((image) => ({ version: tagOf(image) })))
}

/** Returns the version that all have; undefined if they differ, and for none. */
export function commonVersion(all: readonly { readonly version?: string | undefined }[]): string | undefined {
  const [first, ...rest] = new Set(all.map(({ version }) => version))
  return rest.length === 0 ? first : undefined
}

function tagOf(image: string): string | undefined {
  const [named = ''] = image.split('@')
  return /:([\w][\w.-]{0,127})$/.exec(named.slice(named.lastIndexOf('/') + 1))?.[1]
}
