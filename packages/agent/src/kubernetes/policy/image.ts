/** Compares image references by whole path segments: `windlass/dind` does not match `windlass/dind-of-others`. Pure. */

interface Reference {
  readonly repository: string
  readonly tag: string | undefined
  readonly digest: string | undefined
}

/**
 * Whether a list contains an image. An entry is a repository (every tag), a reference with a tag or a digest (only that one), or a folder
 * of repositories that ends with `/`. If the entry has a digest, the tag is ignored. A reference without a registry is one of docker.io.
 */
export function isListedImage(image: string, list: readonly string[]): boolean {
  const given = readReference(image)
  if (given === undefined) return false
  return list.some((entry) => {
    // A repository is appended so that a leading registry is recognized as one.
    if (entry.endsWith('/')) return given.repository.startsWith(withRegistry(`${entry}x`).slice(0, -1))
    const listed = readReference(entry)
    if (listed === undefined || listed.repository !== given.repository) return false
    if (listed.digest !== undefined) return listed.digest === given.digest
    return listed.tag === undefined || listed.tag === given.tag
  })
}

const REFERENCE =
  /^(?<repository>[^\s:@]+(?::[0-9]+\/[^\s:@]+)?)(?::(?<tag>[\w][\w.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/

function readReference(text: string): Reference | undefined {
  const found = REFERENCE.exec(text)?.groups
  const repository = found?.['repository']
  if (repository === undefined || repository.split('/').includes('..')) return undefined
  return { repository: withRegistry(repository), tag: found?.['tag'], digest: found?.['digest'] }
}

/** Follows Docker: a first segment with a dot or a port, or `localhost`, is a registry. */
function withRegistry(repository: string): string {
  const [first = '', ...rest] = repository.split('/')
  if (rest.length === 0) return `docker.io/library/${repository}`
  return /[.:]/.test(first) || first === 'localhost' ? repository : `docker.io/${repository}`
}
