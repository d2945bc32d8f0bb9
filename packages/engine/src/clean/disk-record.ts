/** The files in `dind-volume` of the daemon's data on a build's disk, accessed through a container that never runs. */
import { text } from 'node:stream/consumers'
import { readDiskFacts, type DiskFacts } from '@windlass/volumes/clean'
import { extract, type pack } from 'tar-stream'
import type { AttemptContext } from '../attempt/context.ts'
import { archive, openFileContainer, type FileContainer } from '../attempt/workspace.ts'
import { refusalStatus } from '../docker/containers.ts'

export interface DiskRecord {
  /** Returns undefined if the daemon's pod does not publish them, or no longer does. */
  facts(): Promise<DiskFacts | undefined>
  /** Returns the text of a file, or of all files of a folder concatenated. Empty if it does not exist. */
  read(path: string): Promise<string>
  /** Writes files, given by path. */
  write(files: Readonly<Record<string, string>>): Promise<void>
}

const FOLDER = '/dind-volume'
/** More than the records of several weeks. Bytes. */
const MAX_RECORD_BYTES = 64 * 1_048_576

/** Opens the record. Returns undefined if this is not the daemon of one of our pods. */
export async function openDiskRecord({
  docker,
  input,
  toolsImage,
}: Pick<AttemptContext, 'docker' | 'input' | 'toolsImage'>): Promise<DiskRecord | undefined> {
  const source = `${await docker.readDataRoot()}${FOLDER}`
  const mounts = [{ type: 'bind', source, target: FOLDER, readOnly: false } as const]
  const container = await openFileContainer({ docker, input, image: toolsImage, mounts }).catch((error: unknown) => {
    // The folder does not exist.
    if (refusalStatus(error) === 400) return undefined
    throw error
  })
  if (container === undefined) return undefined
  let last: DiskFacts | undefined
  const facts = async (): Promise<DiskFacts | undefined> => {
    const stat = await docker.statFile(await container.id(), `${FOLDER}/facts`)
    const now = stat === undefined ? undefined : readDiskFacts(stat.linkTarget, last)
    last = now ?? last
    return now
  }
  if ((await facts()) === undefined) {
    await docker.removeContainer(await container.id())
    return undefined
  }
  return { facts, read: (path) => read({ docker, container }, path), write: (files) => write({ docker, container }, files) }
}

interface Access {
  readonly docker: AttemptContext['docker']
  readonly container: FileContainer
}

async function read({ docker, container }: Access, path: string): Promise<string> {
  const content = await docker.getArchive(await container.id(), `${FOLDER}/${path}`)
  if (content === undefined) return ''
  const parts: string[] = []
  let bytes = 0
  const tar = content.pipe(extract())
  content.once('error', (error) => tar.destroy(error))
  for await (const entry of tar) {
    const part = await text(entry)
    bytes += part.length
    if (bytes > MAX_RECORD_BYTES) content.destroy()
    else if (entry.header.type === 'file') parts.push(part)
  }
  return parts.join('\n')
}

async function write({ docker, container }: Access, files: Readonly<Record<string, string>>): Promise<void> {
  const fill = (tar: ReturnType<typeof pack>): void => {
    for (const [name, content] of Object.entries(files)) tar.entry({ name, mode: 0o644 }, content)
  }
  await docker.putArchive(await container.id(), FOLDER, await archive(fill))
}
