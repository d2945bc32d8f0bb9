import { open, rename, rm } from 'node:fs/promises'
import { defined } from '@windlass/kit/defined'
import type { LogSource } from './source.ts'

/** Writes the log to a file, compressed if its name ends with `.gz`. The file is complete or is not replaced. */
export async function saveLog(
  { client, build, out, stream, attempt }: LogSource,
  { file, plain }: { readonly file: string; readonly plain: boolean },
): Promise<void> {
  const download = plain ? 'text' : 'raw'
  const query = { download, gzip: file.endsWith('.gz'), ...defined({ stream, attempt }) } as const
  const bytes = await client.builds.logBytes(build.id, { query })
  const part = `${file}.part`
  const handle = await open(part, 'w')
  try {
    for await (const piece of bytes) await handle.writeFile(piece)
    await handle.close()
    await rename(part, file)
  } catch (error) {
    await handle.close().catch(() => undefined)
    await rm(part, { force: true })
    throw error
  }
  out.note(`Saved the log in ${file}.`)
}
