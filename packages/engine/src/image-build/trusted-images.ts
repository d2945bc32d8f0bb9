/** Images that may run with rights over the kernel of the daemon's machine (runtime setting TRUSTED_QEMU_IMAGES). */
import { parseImageName } from '../docker/images.ts'

/** Returns true if the image is on the list. Entries may omit the tag. Images of registries other than Docker Hub need the full name. */
export function isTrusted(image: string, trusted: readonly string[]): boolean {
  const { repository, tag = 'latest' } = parseImageName(image)
  return trusted.some((entry) => {
    const known = parseImageName(entry.trim())
    return short(known.repository) === short(repository) && (known.tag === undefined || known.tag === tag)
  })
}

function short(repository: string): string {
  return repository.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, '')
}
