/**
 * What a build keeps on its daemon: the shared volume, and a small volume of the build that holds `cf_export` and whose existence tells a later
 * attempt that this disk has the state of the build. Files are copied in and out through the archive API of a container that never runs.
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
import type { AttemptInput } from './input.ts'
import { addFiles, addKubeconfig, hasKubeconfig, hasSensitive, SENSITIVE_PATH } from '../secrets/private-files.ts'
import { readText } from './read-text.ts'
import { attemptLabels, LABEL_BUILD } from './labels.ts'
import { BIN_PATH, EXPORT_PATH, EXPORT_LINK } from './paths.ts'

export interface Workspace {
  /** True if this disk has the state of an earlier attempt. */
  readonly kept: boolean
  /** The mounts of every step: the shared volume, the build's own volume, and the mounts of the runtime in the daemon's pod. */
  readonly mounts: readonly ContainerMount[]
  /** Path of the shared volume on the machine of the daemon. */
  readonly mountpoint: string
  /** Returns the status of a path below the shared volume. */
  stat(path: string): Promise<FileStat | undefined>
  /** Returns the text of a file on the shared volume, or undefined if it does not exist or is larger than `maxBytes`. */
  read(path: string, maxBytes: number): Promise<string | undefined>
  /** Unpacks an archive into a folder of the shared volume. */
  unpack(path: string, archive: Uint8Array | Readable, signal?: AbortSignal): Promise<void>
  /** Adds a statically linked shell next to `cf_export`, for debugging in images without a shell. */
  addShell(): Promise<void>
  /** Creates the link to the export file (again). */
  relink(): Promise<void>
  /** Removes what only this attempt needs. With `forget`, removes the build's own volume too. */
  close(options: { readonly forget: boolean }): Promise<void>
}

export interface WorkspaceOptions {
  readonly docker: Docker
  readonly input: AttemptInput
  readonly image: string
}

/** Creates or finds the volumes of a build. The image must be on the daemon, and no container of an earlier attempt may be running. */
export async function openWorkspace({ docker, input, image }: WorkspaceOptions): Promise<Workspace> {
  const marker = `windlass-build-${input.buildId}`
  const found = await docker.findVolume(marker)
  const kept = found !== undefined && (await docker.findVolume(input.volumeName)) !== undefined
  // A reset applies to the first attempt of a build. Later attempts continue with its volume.
  if (input.resetVolume && !kept) await docker.removeVolume(input.volumeName)
  const [shared] = await Promise.all([
    // With labels, a later run can find and remove a volume that only this build uses.
    docker.createVolume(input.volumeName, input.keepVolume === false ? attemptLabels(input) : {}),
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
  const mounts = [...common, volume(marker, BIN_PATH, false)]
  const container = await openVolumeContainer({ docker, input, image, mounts }).catch(async (error: unknown) => {
    // The marker means that an attempt has used the volume, which is not the case after a failure here.
    await removeLeftovers(docker, input.buildId)
    if (!kept) await docker.removeVolume(marker)
    throw error
  })
  let shell: Promise<void> | undefined
  async function addShell(): Promise<void> {
    const id = await container.id()
    const program = await docker.getArchive(id, '/bin/busybox')
    if (program === undefined) throw fault('docker-refused', { message: 'The tools image has no busybox.' })
    // The daemon locks the container while it is read, so the read must finish before the write.
    await docker.putArchive(id, BIN_PATH, await buffer(program))
  }
  return {
    kept,
    mounts: [...common, volume(marker, BIN_PATH, true), ...userMounts(input)],
    mountpoint: shared.mountpoint,
    stat: async (path) => docker.statFile(await container.id(), path),
    read: async (path, maxBytes) => readText(docker, await container.id(), { path, maxBytes }),
    unpack: async (path, archive, signal) => docker.putArchive(await container.id(), path, archive, signal),
    addShell: () => (shell ??= addShell()),
    relink: async () => docker.putArchive(await container.id(), '/', await exportLink()),
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

/** Returns the mounts of the daemon's container, which steps get at the same path. */
function userMounts({ userMounts: mounts = [] }: Pick<AttemptInput, 'userMounts'>): ContainerMount[] {
  return mounts.map(({ path, readOnly }) => ({ type: 'bind', source: path, target: path, readOnly }))
}

/** Removes every container of a build, and the networks and volumes of its compositions. */
export async function removeLeftovers(docker: Docker, buildId: string): Promise<void> {
  await removeProjects(docker, [`${LABEL_BUILD}=${buildId}`], 0)
}

export interface FileContainerOptions {
  readonly docker: Docker
  readonly input: AttemptInput
  readonly image: string
  readonly mounts: readonly ContainerMount[]
}

export interface FileContainer {
  id(): Promise<string>
}

/** Creates a container that never runs. It is created again if a step has removed it (`docker rm $(docker ps -aq)`). */
export async function openFileContainer({ docker, input, image, mounts }: FileContainerOptions): Promise<FileContainer> {
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

/** Opens the container and copies the files that every build has on its volumes. */
async function openVolumeContainer(options: FileContainerOptions): Promise<FileContainer> {
  const container = await openFileContainer(options)
  await options.docker.putArchive(await container.id(), '/', await fixtures(options.input))
  return container
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

/** Creates a small tar archive in memory. */
export async function archive(fill: (tar: ReturnType<typeof pack>) => void): Promise<Buffer> {
  const tar = pack()
  fill(tar)
  tar.finalize()
  return buffer(tar)
}
