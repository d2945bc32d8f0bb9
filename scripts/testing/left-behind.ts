/** Finds objects of the Docker daemon and the cluster, and processes, that a test run leaves on this machine. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** One line for each object, such as `container web shell:1 Exited`. */
export type Things = ReadonlySet<string>

const DOCKER: readonly (readonly string[])[] = [
  ['ps', '--all', '--no-trunc', '--format', 'container {{.ID}} {{.Names}} {{.Image}}'],
  ['image', 'ls', '--format', 'image {{.Repository}}:{{.Tag}} {{.ID}}'],
  ['volume', 'ls', '--format', 'volume {{.Name}}'],
  ['network', 'ls', '--no-trunc', '--format', 'network {{.ID}} {{.Name}}'],
]
const CLUSTER_KINDS = [
  'namespaces',
  'persistentvolumes',
  'storageclasses',
  'clusterroles',
  'clusterrolebindings',
  'customresourcedefinitions',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
].join(',')
/** Characters of a command line in a message. A shell may have its whole program there. */
const MAX_COMMAND = 200
/** How long the cluster may take to delete a namespace, and a busy daemon to carry out the last removals. */
const CLUSTER_PATIENCE_MS = 90_000
const DAEMON_PATIENCE_MS = 15_000

interface Look {
  readonly kubeconfig: string | undefined
  readonly kubectl: string
  /** Folder of the clone. */
  readonly root: string
  /** Folder of the pid files of `start_background` (`scripts/lib.sh`): what has one is stopped by its script. */
  readonly state: string
  /** False if no group of the run uses Docker: then objects of others come and go. */
  readonly hasDocker: boolean
}

/** Lists the current objects and orphans. Returns none for a daemon or cluster that is not running. */
export async function lookAround({ kubeconfig, kubectl, root, state, hasDocker }: Look): Promise<Set<string>> {
  const processes = orphans(root, startedIn(state))
  if (!hasDocker) return new Set(processes)
  const docker = await Promise.all(DOCKER.map((args) => lines('docker', args)))
  const cluster =
    kubeconfig === undefined ? [] : await lines(kubectl, ['--kubeconfig', kubeconfig, 'get', CLUSTER_KINDS, '--output', 'name'])
  return new Set([...docker.flat(), ...builders(), ...processes, ...cluster])
}

/** Returns the objects that are new in the second list, without the images of `scripts/images`. */
export function leftBehind(before: Things, after: Things, images: readonly string[]): string[] {
  const isOurs = (thing: string): boolean => images.some((image) => thing.startsWith(`image ${image} `))
  // A daemon that was started by the run has its own networks.
  const isDocker = (thing: string): boolean => /^network \S+ (bridge|host|none)$/.test(thing)
  return [...after].filter((thing) => !before.has(thing) && !isOurs(thing) && !isDocker(thing)).toSorted()
}

/**
 * Returns the IDs of the new images without a name. Docker's classic builder keeps the image of each instruction of a failed build as its cache, and the
 * one that two builds share if both are removed at the same time.
 */
export function newUnnamedImages(before: Things, after: Things): string[] {
  const prefix = 'image <none>:<none> '
  return [...after].filter((thing) => thing.startsWith(prefix) && !before.has(thing)).map((thing) => thing.slice(prefix.length))
}

/** Removes the cache that Docker's classic builder keeps of a test run. An image that a container uses stays. */
export async function removeBuilderCache(before: Things, look: () => Promise<Things>): Promise<void> {
  const ids = newUnnamedImages(before, await look())
  if (ids.length > 0) await lines('docker', ['rmi', ...ids])
}

/** Polls until nothing is left, or until the time that a removal may take is over. */
export async function awaitNothingLeft(
  before: Things,
  look: () => Promise<Things>,
  images: readonly string[],
  daemonPatienceMs = DAEMON_PATIENCE_MS,
): Promise<string[]> {
  const began = performance.now()
  for (;;) {
    const left = leftBehind(before, await look(), images)
    const isCluster = left.some((thing) => /^(namespace|persistentvolume)\//.test(thing))
    const patienceMs = isCluster ? CLUSTER_PATIENCE_MS : daemonPatienceMs
    if (left.length === 0 || performance.now() - began > patienceMs) return left
    await sleep(500)
  }
}

/** Lists the builders that buildx keeps on this machine, in addition to their containers. */
function builders(): string[] {
  const folder = join(homedir(), '.docker/buildx/instances')
  return existsSync(folder) ? readdirSync(folder).map((name) => `builder ${name}`) : []
}

/** Returns the ids of the processes that have a pid file: `PID START` in `NAME.pid`. */
function startedIn(state: string): Set<string> {
  const files = existsSync(state) ? readdirSync(state).filter((name) => name.endsWith('.pid')) : []
  return new Set(files.map((name) => readFileSync(join(state, name), 'utf8').split(' ')[0] ?? ''))
}

/**
 * Lists processes whose working directory is the folder, or below it, and whose parent has ended, so nothing stops them. Those that run elsewhere are
 * not found.
 */
export function orphans(folder: string, started: ReadonlySet<string> = new Set()): string[] {
  // Below a session of systemd, its manager adopts them instead of the first process.
  const isAdopter = (pid: string): boolean => pid === '1' || readFileSync(`/proc/${pid}/comm`, 'utf8') === 'systemd\n'
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && !started.has(name))
    .flatMap((pid) => {
      try {
        const cwd = readlinkSync(`/proc/${pid}/cwd`)
        if (cwd !== folder && !cwd.startsWith(`${folder}/`)) return []
        const [, parent = ''] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
        if (!isAdopter(parent)) return []
        const [command = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().split('\n')
        return [`process ${pid} ${command.slice(0, MAX_COMMAND)}`]
      } catch {
        // It has ended, or belongs to another user.
        return []
      }
    })
}

async function lines(command: string, args: readonly string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)(command, [...args], { maxBuffer: 16 * 1024 * 1024 }).catch(() => ({ stdout: '' }))
  return stdout.split('\n').filter((line) => line !== '')
}
