/**
 * A compose document in the long form that `docker compose config` writes (compose specification), and what becomes of it here: labels, images
 * that are on the daemon, mounts that stay in the shared volume, and a network that the engine knows. Pure.
 */
import { VOLUME_PATH, type JsonTemplate } from '@windlass/plan'
import { z } from 'zod'

const Mount = z.looseObject({
  type: z.string(),
  source: z.string().optional(),
  target: z.string(),
  read_only: z.boolean().optional(),
})
const FileRef = z.looseObject({ source: z.string(), target: z.string().optional() })
const FileSource = z.looseObject({ file: z.string().optional() })
const Attachment = z.looseObject({ aliases: z.array(z.string()).optional() }).nullable()
const Named = z.looseObject({ name: z.string().optional(), external: z.boolean().optional() }).nullable()

export const ComposeService = z.looseObject({
  image: z.string().optional(),
  build: z.looseObject({ labels: z.record(z.string(), z.string()).nullish() }).optional(),
  container_name: z.string().optional(),
  labels: z.record(z.string(), z.string()).nullish(),
  network_mode: z.string().optional(),
  networks: z.record(z.string(), Attachment).nullish(),
  volumes: z.array(Mount).optional(),
  secrets: z.array(FileRef).optional(),
  configs: z.array(FileRef).optional(),
  restart: z.string().optional(),
  ports: z.unknown().optional(),
})
export type ComposeService = z.infer<typeof ComposeService>

export const ComposeDocument = z.looseObject({
  services: z.record(z.string(), ComposeService).default({}),
  networks: z.record(z.string(), Named).nullish(),
  volumes: z.record(z.string(), Named).nullish(),
  secrets: z.record(z.string(), FileSource).nullish(),
  configs: z.record(z.string(), FileSource).nullish(),
})
export type ComposeDocument = z.infer<typeof ComposeDocument>

/** The document of a pipeline for compose. The key `version` means nothing any more, and compose warns of it. */
export function toDocument(inline: JsonTemplate): object {
  if (inline === null || typeof inline !== 'object' || Array.isArray(inline)) return { services: {} }
  return { services: {}, ...(inline as object), version: undefined }
}

/** How the containers reach each other and the step. */
export type ComposeNetwork =
  /** A network of the project's own. */
  | { readonly kind: 'own' }
  /** A network that exists. */
  | { readonly kind: 'network'; readonly name: string }
  /** All in one namespace: `container:<id>`. */
  | { readonly kind: 'namespace'; readonly namespace: string }

export interface FinishOptions {
  readonly labels: Readonly<Record<string, string>>
  /** Service -> what to make its containers of; services that build their image are not in it. */
  readonly images: ReadonlyMap<string, string>
  /** Mounts the shared volume in every service. */
  readonly addVolume: boolean
  readonly volumeName: string
  /** Where the shared volume lies on the machine of the daemon. */
  readonly mountpoint: string
  /** The daemon's socket on its own machine; undefined when steps may not have it. */
  readonly socketPath: string | undefined
  readonly network: ComposeNetwork
  /** Driver options of networks that are made. */
  readonly networkOptions: Readonly<Record<string, string>>
  /** Further networks that every service is on. */
  readonly moreNetworks: readonly string[]
  /** Services that end by themselves. */
  readonly candidates: readonly string[]
  /** Ports are published on the daemon's machine. */
  readonly publish: boolean
  /** The daemon keeps the output of the containers; else whoever is attached has it alone. */
  readonly keepLogs: boolean
}

export interface Finished {
  readonly document: object
  /** Why it may not run, one sentence each. */
  readonly problems: readonly string[]
  /** Folders and files of the shared volume that are mounted: paths below it. */
  readonly sources: readonly string[]
  /** True when what the containers write on the shared volume outlives them. */
  readonly sharesVolume: boolean
}

const SOCKETS = ['/var/run/docker.sock', '/run/docker.sock']

/** The document to run. */
export function finishDocument(document: ComposeDocument, options: FinishOptions): Finished {
  const notes: Notes = { problems: [], sources: new Set() }
  const services = Object.entries(document.services).map(([name, service]) => {
    const at = { name, document, options, notes }
    checkRights(service, at)
    return [name, finishService(service, at)] as const
  })
  const { secrets, configs, ...rest } = document
  return {
    document: {
      ...rest,
      // Those of files are mounts by now; others are put in by compose itself.
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
    // The output of a terminal comes in another form, and would hold its control characters.
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

/** Compose mounts files of its own machine, which is a container here. */
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

/** A mount whose source is inside the shared volume, the daemon's socket, or a volume. */
function finishMount(mount: z.infer<typeof Mount>, { name, options, notes }: Place): object {
  if (mount.type !== 'bind') return mount
  const source = mount.source ?? ''
  const { read_only: readOnly } = mount
  const common = { target: mount.target, ...(readOnly !== undefined && { read_only: readOnly }) }
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

/** What only shared namespaces of the network cannot have. */
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
    const gone = Object.fromEntries(OWN_NETWORK_KEYS.map((key) => [key, undefined]))
    return { ...gone, ports: undefined, network_mode: network.namespace }
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

/** Networks and volumes that are made for the project carry its labels, and have names of its own. */
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

/** Where steps may not have the daemon, containers must not reach its machine in other ways. */
function checkRights(service: ComposeService, { name, document, options, notes }: Place): void {
  if (options.socketPath !== undefined) return
  const wanted = [
    service['privileged'] === true && 'privileged',
    ...(['pid', 'ipc', 'userns_mode', 'uts', 'cgroup'] as const).map((key) => service[key] === 'host' && `${key}: host`),
    (service.network_mode === 'host' || service.network_mode?.startsWith('container:') === true) &&
      `network_mode: ${service.network_mode}`,
    ...(['cap_add', 'devices', 'security_opt', 'device_cgroup_rules', 'cgroup_parent', 'volumes_from'] as const).map(
      (key) => service[key] !== undefined && key,
    ),
    ...(service.volumes ?? []).map(
      ({ type, source = '' }) =>
        type === 'volume' &&
        document.volumes?.[source]?.external === true &&
        document.volumes[source].name !== options.volumeName &&
        `the external volume ${source}`,
    ),
  ].filter((key) => key !== false)
  for (const key of wanted) notes.problems.push(`Service "${name}" wants ${key}, which this runtime does not allow.`)
}
