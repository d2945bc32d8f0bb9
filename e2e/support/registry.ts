import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeImages } from './leftovers.ts'
import { freePort, startService } from './process.ts'

export type Registry = {
  /** `host:port`, the first part of an image reference. */
  readonly domain: string
  readonly url: string
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export type RegistryOptions = {
  /** Address to listen on, default 127.0.0.1, which a Docker daemon on this machine trusts without TLS. */
  host?: string
  port?: number
  /** If set, every request needs this name and password. */
  auth?: { user: string; password: string }
  /** PEM. Clients then need its certificate authority. */
  tls?: { cert: string; key: string }
  /** Folder of the images. Default: a temporary folder that `close` removes. */
  folder?: string
  /** Called for each push and pull, with these headers. */
  notify?: { url: string; headers: Record<string, string> }
}

/**
 * Starts Debian's `docker-registry` (distribution 2.8) with an empty store. Resolves when it responds. `close` also removes its images from the
 * daemon.
 */
export async function startRegistry(options: RegistryOptions = {}): Promise<Registry> {
  const { host = '127.0.0.1', auth, tls } = options
  const port = options.port ?? (await freePort())
  const folder = await mkdtemp(join(tmpdir(), 'windlass-registry-'))
  const domain = `${host}:${port}`
  const files = { certificate: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  if (tls !== undefined) {
    await writeFile(files.certificate, tls.cert)
    await writeFile(files.key, tls.key, { mode: 0o600 })
  }
  const config: Record<string, unknown> = {
    version: '0.1',
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: options.folder ?? folder }, delete: { enabled: true } },
    http: { addr: domain, ...(tls !== undefined && { tls: files }) },
  }
  if (auth !== undefined) {
    const file = join(folder, 'htpasswd')
    await writeFile(file, `${auth.user}:${bcrypt(auth.password)}\n`)
    config['auth'] = { htpasswd: { realm: 'registry', path: file } }
  }
  if (options.notify !== undefined) {
    const { url, headers } = options.notify
    const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
    const endpoint = { name: 'test', url, headers: lists, timeout: '5s', threshold: 5, backoff: '1s' }
    config['notifications'] = { endpoints: [endpoint] }
  }
  // JSON is YAML.
  await writeFile(join(folder, 'config.yml'), JSON.stringify(config))
  const service = await startService({
    command: 'docker-registry',
    args: ['serve', join(folder, 'config.yml')],
    ready: () => answers(`http://${domain.replace('0.0.0.0', '127.0.0.1')}/v2/`),
  })
  const close = async (): Promise<void> => {
    await service.stop()
    await removeImages((repository) => repository.startsWith(`${domain}/`))
    await rm(folder, { recursive: true, force: true })
  }
  return { domain, url: `${tls === undefined ? 'http' : 'https'}://${domain}`, close, [Symbol.asyncDispose]: close }
}

/** Returns true if the URL responds to HTTP, with any status. */
async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(1_000) })
    return true
  } catch {
    return false
  }
}

const SALT_CHARACTERS = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Returns a bcrypt hash in the format of htpasswd files. Perl's crypt(3), which every Debian has, computes it; the password is passed on stdin. */
export function bcrypt(password: string): string {
  const salt = Array.from({ length: 22 }, () => SALT_CHARACTERS[randomInt(SALT_CHARACTERS.length)]).join('')
  const hash = execFileSync('perl', ['-e', 'print crypt(<STDIN>, $ARGV[0])', `$2b$05$${salt}`], {
    input: password,
    encoding: 'utf8',
  })
  if (!hash.startsWith('$2b$05$')) throw new Error('crypt(3) of this machine does not know bcrypt')
  return hash
}
