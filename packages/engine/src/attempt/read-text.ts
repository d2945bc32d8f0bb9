/** Reads a small text file from a container. */
import { buffer } from 'node:stream/consumers'
import { extract } from 'tar-stream'
import type { Docker } from '../docker/docker.ts'

/** Returns undefined if the file does not exist or is larger than `maxBytes`. Follows one link. */
export async function readText(
  docker: Docker,
  id: string,
  { path, maxBytes }: { readonly path: string; readonly maxBytes: number },
): Promise<string | undefined> {
  const stat = await docker.statFile(id, path)
  if (stat === undefined || stat.size > maxBytes) return undefined
  const packed = await docker.getArchive(id, stat.linkTarget === '' ? path : stat.linkTarget)
  if (packed === undefined) return undefined
  const files = extract()
  packed.pipe(files)
  for await (const entry of files) {
    const bytes = await buffer(entry)
    if (entry.header.type === 'file') return bytes.length > maxBytes ? undefined : bytes.toString('utf8')
  }
  return undefined
}
