import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'

/** Returns a tar archive of texts, readable by their owner only. Times are the Unix epoch, so that the output is deterministic. */
export async function toTar(files: ReadonlyMap<string, string>): Promise<Buffer> {
  const archive = pack()
  for (const [name, text] of files) archive.entry({ name, mode: 0o600, mtime: new Date(0) }, text)
  archive.finalize()
  return buffer(archive)
}
