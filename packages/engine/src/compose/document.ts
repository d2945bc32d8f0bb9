/**
 * A compose document in the long form of `docker compose config` (compose specification), and its conversion for a build: labels, images of the
 * daemon, mounts in the shared volume, and a network of the engine. Pure.
 */
import { defined } from '@windlass/kit'
import { VOLUME_PATH, type JsonTemplate } from '@windlass/plan'
import type { z } from 'zod'
import { checkRights } from './rights.ts'
import type { Mount, ComposeService, ComposeDocument } from './schema.ts'

/** Returns an inline document for compose. The key `version` is obsolete and would cause a warning. */
export function toDocument(inline: JsonTemplate): object {
  if (inline === null || typeof inline !== 'object' || Array.isArray(inline)) return { services: {} }
  return { services: {}, ...(inline as object), version: undefined }
}

/** How the containers reach each other and the step. */
export type ComposeNetwork =
  /** A network of the project. */
  | { readonly kind: 'own' }
  /** An existing network. */
  | { readonly kind: 'network'; readonly name: string }
  /** One namespace for all: `container:<id>`. */
  | { readonly kind: 'namespace'; readonly namespace: string }

export interface FinishOptions {
  readonly labels: Readonly<Record<string, string>>
  /** Service -> image of its containers. Services that build their image are missing. */
  readonly images: ReadonlyMap<string, string>
  /** Mount the shared volume in every service. */
  readonly addVolume: boolean
  readonly volumeName: string
  /** Path of the shared volume on the machine of the daemon. */
  readonly mountpoint: string
  /** The daemon's socket on its own machine. Undefined if steps have no access to it. */
  readonly socketPath: string | undefined
  readonly network: ComposeNetwork
  /** Driver options of created networks. */
  readonly networkOptions: Readonly<Record<string, string>>
  /** Additional networks of every service. */
  readonly moreNetworks: readonly string[]
  /** Services that end by themselves. */
  readonly candidates: readonly string[]
  /** Publish ports on the daemon's machine. */
  readonly publish: boolean
  /** Let the daemon keep the output of the containers. Otherwise only an attachment receives it. */
  readonly keepLogs: boolean
}

export interface Finished {
  readonly document: object
  /** Why it must not run, one sentence each. */
  readonly problems: readonly string[]
  /** Mounted folders and files of the shared volume: paths below it. */
  readonly sources: readonly string[]
  /** True if writes of the containers to the shared volume outlive them. */
  readonly sharesVolume: boolean
}

const SOCKETS = ['/var/run/docker.sock', '/run/docker.sock']

/** Converts a document for the build. */
export function finishDocument(document: ComposeDocument, options: FinishOptions): Finished {
  const { volumeName } = options
  const problems = checkRights(document, { userAccess: options.socketPath !== undefined, volumeName })
  const notes: Notes = { problems, sources: new Set() }
  const services = Object.entries(document.services).map(([name, service]) => {
    const at = { name, document, options, notes }
    return [name, finishService(service, at)] as const
  })
  const { secrets, configs, ...rest } = document
  return {
    document: {
      ...rest,
      // Secrets and configs from files are mounts now; compose handles the others.
      secrets: withoutFiles(secrets),
      configs: withoutFiles(configs),
      services: Object.fromEntries(services),
      networks: finishNetworks(document, options),
      volumes: { ...labelled(document.volumes, options), [options.volumeName]: { external: true, name: options.volumeName } },
    },
    problems: notes.problems,
    sources: [...notes.sources],
    sharesVolume:
      options.addVolume ||
      notes.sources.size > 0 ||
      Object.values(document.services).some(({ volumes = [] }) =>
        volumes.some(({ source }) => source === options.volumeName || source === VOLUME_PATH),
      ),
  }
}

interface Notes {
  readonly problems: string[]
  readonly sources: Set<string>
}

interface Place {
  readonly name: string
  readonly document: ComposeDocument
  readonly options: FinishOptions
  readonly notes: Notes
}

function finishService(service: ComposeService, at: Place): object {
  const { options, name } = at
  const { container_name: containerName, secrets, configs, ports, ...rest } = service
  const mounts = [
    ...(service.volumes ?? []),
    ...fileMounts(secrets, at.document.secrets, '/run/secrets/'),
    ...fileMounts(configs, at.document.configs, '/'),
  ]
  const isShared = mounts.some(({ target }) => target.replace(/\/$/, '') === VOLUME_PATH)
  const volume = { type: 'volume', source: options.volumeName, target: VOLUME_PATH }
  const image = options.images.get(name)
  return {
    ...rest,
    // `environment` and `labels` contain their values already. They must not be read again next to credentials.
    env_file: undefined,
    label_file: undefined,
    // A terminal's output has another format and contains control characters.
    tty: false,
    ...(image !== undefined && { image, pull_policy: 'never' }),
    ...(service.build !== undefined && { build: { ...service.build, labels: { ...service.build.labels, ...options.labels } } }),
    ...(options.candidates.includes(name) && { restart: 'no' }),
    ...(options.publish && ports !== undefined && { ports }),
    ...(!options.keepLogs && { logging: { driver: 'none' } }),
    labels: { ...service.labels, ...options.labels },
    volumes: [...mounts.map((mount) => finishMount(mount, at)), ...(options.addVolume && !isShared ? [volume] : [])],
    secrets: secrets?.filter(({ source }) => at.document.secrets?.[source]?.file === undefined),
    configs: configs?.filter(({ source }) => at.document.configs?.[source]?.file === undefined),
    ...attach(service, containerName, options),
  }
}

type Files = ComposeDocument['secrets']

/** Converts files to mounts. Compose would mount files of its own machine, which is a container here. */
function fileMounts(
  refs: ComposeService['secrets'],
  files: Files,
  folder: string,
): { type: string; source: string; target: string; read_only: boolean }[] {
  return (refs ?? []).flatMap(({ source, target = source }) => {
    const file = files?.[source]?.file
    if (file === undefined) return []
    return [{ type: 'bind', source: file, target: target.startsWith('/') ? target : folder + target, read_only: true }]
  })
}

function withoutFiles(files: Files): object {
  return Object.fromEntries(Object.entries(files ?? {}).filter(([, { file }]) => file === undefined))
}

/** Converts a mount. Its source must be inside the shared volume, the daemon's socket, or a volume. */
function finishMount(mount: z.infer<typeof Mount>, { name, options, notes }: Place): object {
  if (mount.type !== 'bind') return mount
  const source = mount.source ?? ''
  const { read_only: readOnly } = mount
  const common = { target: mount.target, ...defined({ read_only: readOnly }) }
  if (SOCKETS.includes(source)) {
    if (options.socketPath === undefined)
      notes.problems.push(`Service "${name}" mounts the socket of the Docker daemon, which this runtime does not allow.`)
    return { type: 'bind', source: options.socketPath ?? source, ...common }
  }
  if (source === VOLUME_PATH) return { type: 'volume', source: options.volumeName, ...common }
  if (!source.startsWith(`${VOLUME_PATH}/`)) {
    notes.problems.push(`Service "${name}" mounts ${source}, but only what is below ${VOLUME_PATH} can be mounted.`)
    return mount
  }
  const path = source.slice(VOLUME_PATH.length + 1)
  notes.sources.add(path)
  return { type: 'bind', source: `${options.mountpoint}/${path}`, ...common }
}

/** Keys that do not apply in a shared network namespace. */
const OWN_NETWORK_KEYS = [
  'hostname',
  'domainname',
  'extra_hosts',
  'dns',
  'dns_search',
  'dns_opt',
  'mac_address',
  'links',
  'networks',
] as const

function attach(service: ComposeService, containerName: string | undefined, options: FinishOptions): object {
  const { network, moreNetworks } = options
  if (network.kind === 'namespace') {
    const removed = Object.fromEntries(OWN_NETWORK_KEYS.map((key) => [key, undefined]))
    return { ...removed, ports: undefined, network_mode: network.namespace }
  }
  if (service.network_mode !== undefined) return {}
  const own = service.networks ?? { default: null }
  const wanted = network.kind === 'network' ? { default: null, ...own } : own
  const joined = Object.entries(wanted).map(([key, value]) => {
    const aliases = [...(value?.aliases ?? []), ...(containerName === undefined ? [] : [containerName])]
    return [key, aliases.length > 0 ? { ...value, aliases } : value] as const
  })
  return { networks: Object.fromEntries([...joined, ...moreNetworks.map((name) => [name, null] as const)]) }
}

function finishNetworks({ networks }: ComposeDocument, options: FinishOptions): object {
  const { network, moreNetworks } = options
  const external = (name: string): object => ({ external: true, name })
  return {
    ...labelled({ default: null, ...networks }, options, options.networkOptions),
    ...(network.kind === 'network' && { default: external(network.name) }),
    ...Object.fromEntries(moreNetworks.map((name) => [name, external(name)])),
  }
}

/** Adds labels to the networks and volumes of the project and removes custom names. */
function labelled(
  named: ComposeDocument['networks'],
  { labels }: FinishOptions,
  driverOptions: Readonly<Record<string, string>> = {},
): Record<string, object> {
  return Object.fromEntries(
    Object.entries(named ?? {}).map(([key, value]) => {
      if (value?.external === true) return [key, value]
      const { name: _, ...rest } = value ?? {}
      const options = { ...driverOptions, ...(rest['driver_opts'] as object | undefined) }
      return [key, { ...rest, driver_opts: options, labels: { ...(rest['labels'] as object | undefined), ...labels } }]
    }),
  )
}
