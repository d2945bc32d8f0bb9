/**
 * What a build keeps on its daemon: the shared volume, and a small volume of its own that holds `cf_export` and whose existence tells a later
 * attempt that this disk still has the build's state. A container that never runs is the door to both: files go in and out through its archive.
 */
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fault } from '@windlass/kit'
import { VOLUME_PATH } from '@windlass/plan'
import { pack } from 'tar-stream'
import { removeProjects } from '../compose/remove-project.ts'
import { refusalStatus, type ContainerMount, type FileStat } from '../docker/containers.ts'
import type { Docker } from '../docker/docker.ts'
import { attemptLabels, LABEL_BUILD } from './context.ts'
import type { AttemptInput } from './input.ts'
import { addFiles, addKubeconfig, hasKubeconfig, hasSensitive, SENSITIVE_PATH } from './private-files.ts'
import { readText } from './read-text.ts'

/** Where a build's own volume is mounted in steps, read-only. Its parent is a folder of the container's own. */
export const BIN_PATH = '/windlass/bin'
/** Exported variables of one step: a file of its container, so that steps at the same time do not meet. */
export const EXPORT_PATH = '/windlass/env_vars_to_export'
/** The name under which pipelines know it: a link to the file of whichever container looks. */
export const EXPORT_LINK = `${VOLUME_PATH}/env_vars_to_export`

export interface Workspace {
  /** True when this disk has the state of an earlier attempt. */
  readonly kept: boolean
  /** The mounts of every step: shared volume, own volume, and what the runtime mounts in the daemon's pod for all steps. */
  readonly mounts: readonly ContainerMount[]
  /** Where the shared volume lies on the machine of the daemon. */
  readonly mountpoint: string
  /** Of a path below the shared volume. */
  stat(path: string): Promise<FileStat | undefined>
  /** Text of a file of the shared volume; undefined when there is none, or it is larger than `maxBytes`. */
  read(path: string, maxBytes: number): Promise<string | undefined>
  /** Unpacks an archive into a folder of the shared volume. */
  unpack(path: string, archive: Uint8Array | Readable, signal?: AbortSignal): Promise<void>
  /** Puts a shell that needs no libraries beside `cf_export`, for debuggers in images that have none. */
  addShell(): Promise<void>
  /** Makes the link to the export file (again). */
  relink(): Promise<void>
  /** Gives back what only this attempt needs; with `forget`, the build's own volume too. */
  close(options: { readonly forget: boolean }): Promise<void>
}

export interface WorkspaceOptions {
  readonly docker: Docker
  readonly input: AttemptInput
  readonly image: string
}

/** Makes or finds the volumes of a build. The image must be on the daemon, and nothing of an earlier attempt may run any more. */
export async function openWorkspace({ docker, input, image }: WorkspaceOptions): Promise<Workspace> {
  const marker = `windlass-build-${input.buildId}`
  const found = await docker.findVolume(marker)
  const kept = found !== undefined && (await docker.findVolume(input.volumeName)) !== undefined
  // A reset belongs to the first attempt of a build; later ones go on with what it left.
  if (input.resetVolume && !kept) await docker.removeVolume(input.volumeName)
  const [shared] = await Promise.all([
    docker.createVolume(input.volumeName, {}),
    docker.createVolume(marker, attemptLabels(input)),
  ])
  const volume = (source: string, target: string, readOnly: boolean): ContainerMount => ({
    type: 'volume',
    source,
    target,
    readOnly,
  })
  const sensitive = `windlass-sensitive-${input.buildId}`
  if (hasSensitive(input)) await docker.createVolume(sensitive, attemptLabels(input))
  const common = [
    volume(input.volumeName, VOLUME_PATH, false),
    ...(hasSensitive(input) ? [volume(sensitive, SENSITIVE_PATH, false)] : []),
  ]
  const door = await openDoor({ docker, input, image, mounts: [...common, volume(marker, BIN_PATH, false)] })
  await docker.putArchive(await door.id(), '/', await fixtures(input))
  let shell: Promise<void> | undefined
  async function addShell(): Promise<void> {
    const id = await door.id()
    const program = await docker.getArchive(id, '/bin/busybox')
    if (program === undefined) throw fault('docker-refused', { message: 'The tools image has no busybox.' })
    // The daemon locks the container while it is read: what comes out has to be out before anything goes in.
    await docker.putArchive(id, BIN_PATH, await buffer(program))
  }
  return {
    kept,
    mounts: [...common, volume(marker, BIN_PATH, true), ...userMounts(input)],
    mountpoint: shared.mountpoint,
    stat: async (path) => docker.statFile(await door.id(), path),
    read: async (path, maxBytes) => readText(docker, await door.id(), { path, maxBytes }),
    unpack: async (path, archive, signal) => docker.putArchive(await door.id(), path, archive, signal),
    addShell: () => (shell ??= addShell()),
    relink: async () => docker.putArchive(await door.id(), '/', await exportLink()),
    close: async ({ forget }) => {
      await removeLeftovers(docker, input.buildId)
      if (hasSensitive(input)) await docker.removeVolume(sensitive)
      if (!forget) return
      await docker.removeVolume(marker)
      for (const { name } of await docker.listUnusedVolumes([`${LABEL_BUILD}=${input.buildId}`])) await docker.removeVolume(name)
      if (input.keepVolume === false) await docker.removeVolume(input.volumeName)
    },
  }
}

/** What is mounted in the daemon's container stands at the same place in every step. */
function userMounts({ userMounts: mounts = [] }: Pick<AttemptInput, 'userMounts'>): ContainerMount[] {
  return mounts.map(({ path, readOnly }) => ({ type: 'bind', source: path, target: path, readOnly }))
}

/** Removes every container of a build, and the networks and volumes of its compositions. */
export async function removeLeftovers(docker: Docker, buildId: string): Promise<void> {
  await removeProjects(docker, [`${LABEL_BUILD}=${buildId}`], 0)
}

export interface DoorOptions {
  readonly docker: Docker
  readonly input: AttemptInput
  readonly image: string
  readonly mounts: readonly ContainerMount[]
}

export interface Door {
  id(): Promise<string>
}

/** A container that never runs; made anew when a step has removed it (`docker rm $(docker ps -aq)`). */
export async function openDoor({ docker, input, image, mounts }: DoorOptions): Promise<Door> {
  const create = (): Promise<string> =>
    docker.createContainer({
      image,
      entrypoint: ['/bin/true'],
      environment: [],
      labels: attemptLabels(input),
      mounts,
      network: 'none',
      stdin: false,
    })
  let id = await create()
  return {
    async id() {
      try {
        await docker.inspectContainer(id)
      } catch (error) {
        if (refusalStatus(error) !== 404) throw error
        id = await create()
      }
      return id
    },
  }
}

const CF_EXPORT = readFileSync(new URL('cf_export.sh', import.meta.url))

async function fixtures(input: AttemptInput): Promise<Buffer> {
  return archive((tar) => {
    addFiles(tar, input, BIN_PATH)
    if (hasKubeconfig(input)) addKubeconfig(tar, input)
    tar.entry({ name: `${BIN_PATH.slice(1)}/cf_export`, mode: 0o755 }, CF_EXPORT)
    tar.entry({ name: `${VOLUME_PATH.slice(1)}/cf_export`, mode: 0o755 }, CF_EXPORT)
    addLink(tar)
  })
}

async function exportLink(): Promise<Buffer> {
  return archive(addLink)
}

function addLink(tar: ReturnType<typeof pack>): void {
  tar.entry({ name: EXPORT_LINK.slice(1), type: 'symlink', linkname: EXPORT_PATH })
}

/** A small tar archive in memory. */
export async function archive(fill: (tar: ReturnType<typeof pack>) => void): Promise<Buffer> {
  const tar = pack()
  fill(tar)
  tar.finalize()
  return buffer(tar)
}
