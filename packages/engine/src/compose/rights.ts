/**
 * Checks what a composition may use. Some keys are always rejected: they run programs or expose logins where compose itself runs. If steps have no
 * access to the Docker daemon (`userAccess: false`), only listed keys are allowed, because others may give access to the daemon's machine. A new
 * compose key is rejected until it is reviewed here. Keys: compose specification, docs.docker.com/reference/compose-file.
 */
import { VOLUME_PATH } from '@windlass/plan'
import { localCachePaths } from '../image-build/local-caches.ts'
import type { ComposeDocument, ComposeService } from './schema.ts'

export interface RightsOptions {
  /** Whether steps have access to the Docker daemon. */
  readonly userAccess: boolean
  /** Name of the shared volume, the only external volume that services may mount. */
  readonly volumeName: string
}

/** Returns why the composition must not run, one sentence each. */
export function checkRights(document: ComposeDocument, { userAccess, volumeName }: RightsOptions): string[] {
  const found: string[] = []
  for (const [name, service] of Object.entries(document.services)) {
    const reject = (what: string, why: string): void => void found.push(`Service "${name}" wants ${what}, which ${why}.`)
    for (const key of NEVER) if (service[key] !== false && isSet(service[key])) reject(key, 'builds cannot have')
    for (const path of outsideOf(service)) reject(`to build from ${path}`, `is not below ${VOLUME_PATH}`)
    if (!userAccess) for (const what of keysOf(service, SERVICE, '')) reject(what, 'this runtime does not allow')
  }
  if (userAccess) return found
  const reject = (kind: string, name: string, what: string): void =>
    void found.push(`The ${kind} "${name}" wants ${what}, which this runtime does not allow.`)
  for (const [name, volume] of Object.entries(document.volumes ?? {}))
    for (const what of volumeProblems(volume ?? {}, volumeName)) reject('volume', name, what)
  for (const [name, network] of Object.entries(document.networks ?? {}))
    for (const what of networkProblems(network ?? {})) reject('network', name, what)
  return found
}

/** `provider` runs a program next to compose, `use_api_socket` exposes the daemon and the registry logins, `models` starts a plugin. */
const NEVER = ['provider', 'use_api_socket', 'models'] as const

type Check = (value: unknown) => string[]
const anything: Check = () => []

/** Keys of a service that affect only its own containers. `finishDocument` and `docker compose config` handle what is not checked here. */
const SERVICE: Readonly<Record<string, Check>> = {
  attach: anything,
  build: (value) => keysOf(value, BUILD, 'build.'),
  cap_drop: anything,
  cgroup: oneOf('cgroup', ['private']),
  command: anything,
  configs: anything,
  container_name: anything,
  cpu_count: anything,
  cpu_percent: anything,
  cpu_period: anything,
  cpu_quota: anything,
  cpu_shares: anything,
  cpus: anything,
  cpuset: anything,
  depends_on: anything,
  deploy: (value) => keysOf(value, DEPLOY, 'deploy.'),
  develop: anything,
  dns: anything,
  dns_opt: anything,
  dns_search: anything,
  domainname: anything,
  entrypoint: anything,
  environment: anything,
  expose: anything,
  extra_hosts: anything,
  group_add: anything,
  healthcheck: anything,
  hostname: anything,
  image: anything,
  init: anything,
  ipc: oneOf('ipc', ['private', 'shareable', 'none', /^service:/]),
  labels: anything,
  links: anything,
  logging: (value) => oneOf('logging.driver', ['none', 'json-file', 'local'])(field(value, 'driver')),
  mac_address: anything,
  mem_limit: anything,
  mem_reservation: anything,
  mem_swappiness: anything,
  memswap_limit: anything,
  network_mode: oneOf('network_mode', ['none', 'bridge', /^service:/]),
  networks: anything,
  pid: oneOf('pid', [/^service:/]),
  pids_limit: anything,
  platform: anything,
  ports: anything,
  post_start: (value) => hooks(value, 'post_start'),
  pre_stop: (value) => hooks(value, 'pre_stop'),
  privileged: oneOf('privileged', [false]),
  profiles: anything,
  pull_policy: anything,
  pull_refresh_after: anything,
  read_only: anything,
  restart: anything,
  scale: anything,
  secrets: anything,
  shm_size: anything,
  stdin_open: anything,
  stop_grace_period: anything,
  stop_signal: anything,
  sysctls: anything,
  tmpfs: anything,
  tty: anything,
  ulimits: anything,
  user: anything,
  volumes: (value) => list(value).flatMap((mount) => oneOf('volumes.type', ['bind', 'volume', 'tmpfs'])(field(mount, 'type'))),
  working_dir: anything,
  // Rejected above with a separate message.
  ...Object.fromEntries(NEVER.map((key) => [key, anything])),
}

const BUILD: Readonly<Record<string, Check>> = {
  additional_contexts: anything,
  args: anything,
  cache_from: anything,
  cache_to: anything,
  context: anything,
  dockerfile: anything,
  dockerfile_inline: anything,
  extra_hosts: anything,
  labels: anything,
  network: oneOf('build.network', ['none', 'default', 'bridge']),
  no_cache: anything,
  no_cache_filter: anything,
  platforms: anything,
  privileged: oneOf('build.privileged', [false]),
  provenance: anything,
  pull: anything,
  sbom: anything,
  secrets: anything,
  shm_size: anything,
  target: anything,
  ulimits: anything,
}

const DEPLOY: Readonly<Record<string, Check>> = {
  endpoint_mode: anything,
  labels: anything,
  mode: anything,
  placement: anything,
  replicas: anything,
  resources: (value) => keysOf(value, RESOURCES, 'deploy.resources.'),
  restart_policy: anything,
  rollback_config: anything,
  update_config: anything,
}

const RESOURCES: Readonly<Record<string, Check>> = {
  limits: (value) => keysOf(value, AMOUNTS, 'deploy.resources.limits.'),
  reservations: (value) => keysOf(value, AMOUNTS, 'deploy.resources.reservations.'),
}

const AMOUNTS: Readonly<Record<string, Check>> = { cpus: anything, memory: anything, pids: anything }

function volumeProblems(volume: object, volumeName: string): string[] {
  if (field(volume, 'external') === true) return field(volume, 'name') === volumeName ? [] : ['external']
  return [
    ...oneOf('driver', ['local', ''])(field(volume, 'driver')),
    // The options of the driver `local` can mount folders, devices and network drives.
    ...Object.keys(field(volume, 'driver_opts') ?? {}).map((key) => `driver_opts.${key}`),
  ]
}

/** Driver options that affect only the network itself. */
const NETWORK_OPTIONS = ['com.docker.network.driver.mtu', 'com.docker.network.bridge.enable_icc']

function networkProblems(network: object): string[] {
  if (field(network, 'external') === true) return ['external']
  return [
    ...oneOf('driver', ['bridge', ''])(field(network, 'driver')),
    ...Object.keys(field(network, 'driver_opts') ?? {})
      .filter((key) => !NETWORK_OPTIONS.includes(key))
      .map((key) => `driver_opts.${key}`),
  ]
}

/** Returns the local paths that compose reads for a build. All must be on the shared volume. Links are checked when they are read. */
export function buildPaths({ build }: ComposeService): string[] {
  if (build === undefined) return []
  const { context = '' } = build
  const dockerfile = build['dockerfile_inline'] === undefined ? (build.dockerfile ?? 'Dockerfile') : undefined
  const more = Object.values((build['additional_contexts'] ?? {}) as Record<string, unknown>).map(String)
  const keys = list(build['ssh']).flatMap((entry) => /=(.+)$/.exec(String(entry))?.[1] ?? [])
  const caches = localCachePaths([...list(build['cache_from']), ...list(build['cache_to'])].map(String))
  const own = isLocal(context) && dockerfile !== undefined ? [under(context, dockerfile), under(context, '.dockerignore')] : []
  return [context, ...own, ...more, ...keys, ...caches].filter((path) => path !== '' && isLocal(path))
}

function outsideOf(service: ComposeService): string[] {
  return buildPaths(service).filter((path) => path !== VOLUME_PATH && !path.startsWith(`${VOLUME_PATH}/`))
}

/** Returns false for paths that the builder fetches: `https://`, `docker-image://`, `service:`, `git@`. */
function isLocal(path: string): boolean {
  return !/^([a-z][a-z0-9+.-]*:|git@)/i.test(path)
}

function under(folder: string, path: string): string {
  return path.startsWith('/') ? path : `${folder}/${path}`
}

function keysOf(value: unknown, allowed: Readonly<Record<string, Check>>, prefix: string): string[] {
  return Object.entries(value ?? {}).flatMap(([key, inner]: [string, unknown]) => {
    if (!isSet(inner) || key.startsWith('x-')) return []
    const check = Object.hasOwn(allowed, key) ? allowed[key] : undefined
    return check === undefined ? [`${prefix}${key}`] : check(inner)
  })
}

function oneOf(name: string, allowed: readonly (string | boolean | RegExp)[]): Check {
  return (value) => {
    if (!isSet(value)) return []
    const fits = allowed.some((one) => (one instanceof RegExp ? typeof value === 'string' && one.test(value) : one === value))
    return fits ? [] : [value === true ? name : `${name}: ${String(value)}`]
  }
}

function hooks(value: unknown, key: string): string[] {
  return list(value).flatMap((hook) => oneOf(`${key}.privileged`, [false])(field(hook, 'privileged')))
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function field(value: unknown, key: string): unknown {
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[key] : undefined
}

/** Returns false for null and empty values, which compose writes for unset keys. */
function isSet(value: unknown): boolean {
  if (value === null || value === undefined) return false
  if (Array.isArray(value)) return value.length > 0
  return typeof value !== 'object' || Object.keys(value).length > 0
}
