/** What is noted on a build's disk, in `dind-volume` of the daemon's data: read and written through a container that never runs. */
import { text } from 'node:stream/consumers'
import { readDiskFacts, type DiskFacts } from '@windlass/volumes/clean'
import { extract, type pack } from 'tar-stream'
import type { AttemptContext } from '../attempt/context.ts'
import { archive, openDoor, type Door } from '../attempt/workspace.ts'
import { refusalStatus } from '../docker/containers.ts'

export interface DiskRecord {
  /** Undefined when the daemon's pod does not tell (any more). */
  facts(): Promise<DiskFacts | undefined>
  /** Text of a file, or of all files of a folder one after another; empty when there is none. */
  read(path: string): Promise<string>
  /** Files by path. */
  write(files: Readonly<Record<string, string>>): Promise<void>
}

const FOLDER = '/dind-volume'
/** Records of weeks are no more than this. */
const MOST_BYTES = 64 * 1_048_576

/** Opens the record; undefined when this is not the daemon of one of our pods. */
export async function openDiskRecord({
  docker,
  input,
  toolsImage,
}: Pick<AttemptContext, 'docker' | 'input' | 'toolsImage'>): Promise<DiskRecord | undefined> {
  const source = `${await docker.readDataRoot()}${FOLDER}`
  const mounts = [{ type: 'bind', source, target: FOLDER, readOnly: false } as const]
  const door = await openDoor({ docker, input, image: toolsImage, mounts }).catch((error: unknown) => {
    // The folder does not exist.
    if (refusalStatus(error) === 400) return undefined
    throw error
  })
  if (door === undefined) return undefined
  let last: DiskFacts | undefined
  const facts = async (): Promise<DiskFacts | undefined> => {
    const stat = await docker.statFile(await door.id(), `${FOLDER}/facts`)
    const now = stat === undefined ? undefined : readDiskFacts(stat.linkTarget, last)
    last = now ?? last
    return now
  }
  if ((await facts()) === undefined) {
    await docker.removeContainer(await door.id())
    return undefined
  }
  return { facts, read: (path) => read({ docker, door }, path), write: (files) => write({ docker, door }, files) }
}

interface Way {
  readonly docker: AttemptContext['docker']
  readonly door: Door
}

async function read({ docker, door }: Way, path: string): Promise<string> {
  const content = await docker.getArchive(await door.id(), `${FOLDER}/${path}`)
  if (content === undefined) return ''
  const parts: string[] = []
  let bytes = 0
  const tar = content.pipe(extract())
  content.once('error', (error) => tar.destroy(error))
  for await (const entry of tar) {
    const part = await text(entry)
    bytes += part.length
    if (bytes > MOST_BYTES) content.destroy()
    else if (entry.header.type === 'file') parts.push(part)
  }
  return parts.join('\n')
}

async function write({ docker, door }: Way, files: Readonly<Record<string, string>>): Promise<void> {
  const fill = (tar: ReturnType<typeof pack>): void => {
    for (const [name, content] of Object.entries(files)) tar.entry({ name, mode: 0o644 }, content)
  }
  await docker.putArchive(await door.id(), FOLDER, await archive(fill))
}
