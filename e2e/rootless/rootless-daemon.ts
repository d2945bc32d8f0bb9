/**
 * A container of the rootless image, as a privileged pod with `runAsUser: 1000` gives it to the daemon. It has only the privileges that the daemon needs,
 * because a machine may not have all of those of a privileged container.
 */
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DOCKER_PORT, DOCKER_SERVER_NAME, issueCertificates, type DockerCertificates } from '@windlass/manifests'
import { ensureImages } from '../support/images.ts'
import { runProgram } from '../support/process.ts'

const USER = 1_000
/** Networks that the Docker daemon of this machine does not have, so that steps reach the machine. */
const SETTINGS = { bip: '10.201.0.1/24', 'default-address-pools': [{ base: '10.200.0.0/16', size: 24 }] }
const DISK = '/home/rootless/.local/share/docker'
const READY_MS = 180_000
/** The grace period of the daemon's pod in the base of runtimes: it cleans its disk in this time. */
const GRACE_SECONDS = 300
/** What udev and a privileged container provide: devices for all users, and a writable /sys. Then the user of the pod runs the entrypoint. */
const AS_PRIVILEGED_POD = [
  'chmod 0666 /dev/net/tun /dev/fuse',
  'mount -o remount,rw /sys',
  `exec setpriv --reuid ${USER} --regid ${USER} --init-groups "$@"`,
].join(' && ')

export interface RootlessDaemon {
  /** Folder of the disk on this machine. */
  readonly disk: string
  /** Starts the container. The disk keeps what an earlier one wrote. */
  start(...command: string[]): Promise<void>
  /** Waits until the readiness probe succeeds. */
  ready(): Promise<void>
  /** Runs a command in the container as its user. */
  run(...command: string[]): Promise<string>
  /** Returns the variables with which a client of these certificates connects. */
  connection(certificates?: DockerCertificates): Promise<Record<string, string>>
  address(): Promise<string>
  /** Returns user ID and name of each process. */
  processes(): Promise<{ user: number; name: string }[]>
  log(): Promise<string>
  /** Asks the daemon to end as the kubelet does, waits, and removes the container. Returns the exit code. */
  end(): Promise<number>
  /** Waits until the container has ended by itself. Returns its exit code. */
  exitCode(): Promise<number>
  [Symbol.asyncDispose](): Promise<void>
}

const docker = (...args: string[]): Promise<string> => runProgram('docker', args)

/** Prepares certificates and an empty disk, and starts nothing. `owner` is the owner and group of the disk. */
export async function openRootlessDaemon(name: string, owner = USER): Promise<RootlessDaemon> {
  const { DIND_ROOTLESS_IMAGE: image = '' } = await ensureImages('dind-rootless')
  const folder = await mkdtemp(join(tmpdir(), 'windlass-rootless-'))
  await chmod(folder, 0o755)
  const disk = join(folder, 'disk')
  await mkdir(disk)
  await chown(disk, owner, owner)
  const own = issueCertificates({ now: Date.now(), validMs: 3_600_000 })
  const server = { 'ca.pem': own.ca, 'server-cert.pem': own.serverCert, 'server-key.pem': own.serverKey }
  const certificates = await writeFiles(join(folder, 'server'), server)
  const settings = await writeFiles(join(folder, 'settings'), { 'daemon.json': JSON.stringify(SETTINGS) })
  const remove = (): Promise<string> => docker('rm', '--force', '--volumes', name).catch(() => '')

  async function start(...command: string[]): Promise<void> {
    const privileges = ['seccomp', 'apparmor', 'systempaths'].flatMap((part) => ['--security-opt', `${part}=unconfined`])
    const devices = ['--device', '/dev/net/tun', '--device', '/dev/fuse']
    const mounts = [`${disk}:${DISK}`, `${certificates}:/etc/ssl/cf:ro`, `${settings}/daemon.json:/etc/docker/daemon.json:ro`]
    const volumes = mounts.flatMap((mount) => ['--volume', mount])
    const options = ['--cap-add', 'SYS_ADMIN', '--user', '0', ...privileges, ...devices, ...volumes]
    const entry = command.length > 0 ? command : ['/usr/local/bin/run']
    await docker('run', '--detach', '--name', name, ...options, image, 'bash', '-c', AS_PRIVILEGED_POD, 'pod', ...entry)
  }

  async function ready(): Promise<void> {
    const until = performance.now() + READY_MS
    for (;;) {
      const failure = await run('/usr/local/bin/ready').then(
        () => undefined,
        (error: unknown) => error,
      )
      if (failure === undefined) return
      if (performance.now() > until) throw new Error(`the daemon is not ready: ${await log()}`, { cause: failure })
      await sleep(200)
    }
  }

  const run = (...command: string[]): Promise<string> => docker('exec', '--user', String(USER), name, ...command)
  const log = (): Promise<string> => runProgram('sh', ['-c', 'exec docker logs "$0" 2>&1', name])

  const address = (): Promise<string> => docker('inspect', '--format', '{{.NetworkSettings.IPAddress}}', name)

  async function connection(given: DockerCertificates = own): Promise<Record<string, string>> {
    const path = await writeFiles(await mkdtemp(join(folder, 'client-')), {
      'ca.pem': own.ca,
      'cert.pem': given.clientCert,
      'key.pem': given.clientKey,
    })
    return {
      DOCKER_HOST: `tcp://${await address()}:${DOCKER_PORT}`,
      DOCKER_TLS_VERIFY: '1',
      DOCKER_CERT_PATH: path,
      DOCKER_TLS_SERVER_NAME: DOCKER_SERVER_NAME,
    }
  }

  const exitCode = async (): Promise<number> => Number(await docker('wait', name))
  return {
    disk,
    start,
    ready,
    run,
    connection,
    address,
    async processes() {
      const lines = (await docker('top', name, '-eo', 'pid,uid,comm')).split('\n').slice(1)
      return lines
        .map((line) => line.trim().split(/\s+/))
        .map(([, user, command = '']) => ({ user: Number(user), name: command }))
    },
    log,
    async end() {
      await docker('stop', '--time', String(GRACE_SECONDS), name)
      const code = await exitCode()
      await remove()
      return code
    },
    exitCode,
    async [Symbol.asyncDispose]() {
      await remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Writes files that only the user of the daemon can read. */
async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<string> {
  await mkdir(folder, { recursive: true })
  for (const [file, content] of Object.entries(files)) {
    await writeFile(join(folder, file), content, { mode: 0o400 })
    await chown(join(folder, file), USER, USER)
  }
  await chmod(folder, 0o755)
  return folder
}
