/**
 * Checks a compose document in a pipeline: fields of its services, and the services that others name. All problems are warnings, because a newer
 * Docker Compose may know more. Fields: compose specification, docs.docker.com/reference/compose-file.
 */
import { nearest, nearMiss } from '@windlass/plan'
import { didYouMean } from '../language/did-you-mean.ts'
import * as read from '../language/fields.ts'
import type { Spot } from '../language/step-rules.ts'
import type { Range } from '../syntax/source.ts'
import type { Entry, MapNode, TreeNode } from '../syntax/tree.ts'
import { textOf } from '../syntax/tree.ts'

const DOCUMENT_FIELDS = 'services name version networks volumes secrets configs models include'.split(' ')

// The order breaks ties between suggestions.
const SERVICE_FIELDS = (
  'image command environment ports volumes depends_on links build entrypoint working_dir user env_file expose networks healthcheck ' +
  'annotations attach blkio_config cap_add cap_drop cgroup cgroup_parent configs container_name cpu_count cpu_percent cpu_period cpu_quota ' +
  'cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset credential_spec deploy develop device_cgroup_rules devices dns dns_opt dns_search ' +
  'domainname extends external_links extra_hosts gpus group_add hostname init ipc isolation label_file labels logging mac_address mem_limit ' +
  'mem_reservation mem_swappiness memswap_limit models network_mode oom_kill_disable oom_score_adj pid pids_limit platform post_start pre_stop ' +
  'privileged profiles provider pull_policy pull_refresh_after read_only restart runtime scale secrets security_opt shm_size stdin_open ' +
  'stop_grace_period stop_signal storage_opt sysctls tmpfs tty ulimits use_api_socket userns_mode uts volumes_from'
).split(' ')

/** The field of a step, which a compose service calls `working_dir`. */
const WRONG_DIRECTORY = 'working_directory'

/** Maximum length of a service in messages and paths. */
const MAX_LENGTH = 60
/** Number of services that a wrong one is compared with. */
const MAX_CANDIDATES = 100

export interface Composition {
  /** The value of `composition`. */
  readonly written: TreeNode | undefined
  /** `composition_candidates`. */
  readonly candidates?: MapNode | undefined
  /** True if services may be written without `services` around them. */
  readonly mayBeBare: boolean
}

/** Warns about unknown fields, and about references to services that do not exist. A path or the name of a stored composition is not read. */
export function checkComposition({ written, candidates, mayBeBare }: Composition, { report, path }: Spot): void {
  const document = written?.kind === 'map' ? written : undefined
  const listed = document === undefined ? undefined : servicesOf(document, mayBeBare)
  const at = { report, path: `${path}.composition` }
  if (document !== undefined && listed !== document) checkDocument(document, at)
  const inside = listed === document ? at : { report, path: `${at.path}.services` }
  const parts = [
    { services: listed, spot: inside, isCandidate: false },
    { services: candidates, spot: { report, path: `${path}.composition_candidates` }, isCandidate: true },
  ]
  const isWhole = document !== undefined && (listed === document || !document.entries.has('include'))
  const names = isWhole ? new Set(parts.flatMap(({ services }) => [...(services?.entries.keys() ?? [])])) : undefined
  for (const { services, spot, isCandidate } of parts)
    for (const service of services?.entries.values() ?? []) checkService(service, { names, isCandidate }, spot)
}

/** Returns the mapping that has the services: that below `services`, or a document that consists of services. */
function servicesOf(document: MapNode, mayBeBare: boolean): MapNode | undefined {
  const inner = read.map(document.entries, 'services')
  return mayBeBare && (inner === undefined || inner.entries.has('image')) ? document : inner
}

function checkDocument({ entries }: MapNode, spot: Spot): void {
  for (const entry of entries.values()) {
    const isService = entry.value.kind === 'map' && (entry.value.entries.has('image') || entry.value.entries.has('build'))
    const hint = isService ? 'Write services below "services".' : undefined
    reportUnknown(entry, { known: DOCUMENT_FIELDS, what: 'a compose document', hint }, spot)
  }
}

interface ServiceKind {
  /** Names of all services; undefined if they are not known. */
  readonly names: ReadonlySet<string> | undefined
  readonly isCandidate: boolean
}

function checkService({ key: name, value }: Entry, { names, isCandidate }: ServiceKind, { report, path }: Spot): void {
  if (value.kind !== 'map') return
  const spot = { report, path: `${path}.${name.slice(0, MAX_LENGTH)}` }
  const what = `service "${name.slice(0, MAX_LENGTH)}"`
  for (const entry of value.entries.values()) {
    // The rule of candidates reports this field as an error.
    if (isCandidate && entry.key === WRONG_DIRECTORY) continue
    reportUnknown(entry, { known: SERVICE_FIELDS, what, hint: undefined }, spot)
    if (names === undefined) continue
    for (const target of targetsOf(entry)) {
      if (names.has(target.name) || target.name.includes('$') || !report.isFirst('compose-service', target.range)) continue
      reportMissing(target, { of: `"${entry.key}" of ${what}`, names }, { report, path: `${spot.path}.${entry.key}` })
    }
  }
}

interface Known {
  readonly known: readonly string[]
  readonly what: string
  readonly hint: string | undefined
}

function reportUnknown({ key, keyRange }: Entry, { known, what, hint }: Known, { report, path }: Spot): void {
  if (known.includes(key) || key.startsWith('x-') || !report.isFirst('unknown-key', keyRange)) return
  const close = report.suggest(key, known, () => similar(key, known))
  report.warning('unknown-key', keyRange, `unknown field "${key}" in ${what}${didYouMean(close)}`, {
    path: `${path}.${key}`,
    hint: hint ?? 'Correct or remove it. Docker Compose rejects unknown fields.',
    ...(close !== undefined && { suggestion: { from: key, to: close } }),
  })
}

function similar(key: string, known: readonly string[]): string | undefined {
  return key === WRONG_DIRECTORY && known === SERVICE_FIELDS ? 'working_dir' : nearest(key, known)
}

interface Target {
  readonly name: string
  readonly range: Range
}

/** Returns the services that a field of a service names. */
function targetsOf({ key, value }: Entry): Target[] {
  switch (key) {
    case 'depends_on':
      return value.kind === 'map' ? [...value.entries.values()].flatMap(dependencyOf) : textsOf(value)
    case 'links':
      return textsOf(value).map(withoutAlias)
    case 'volumes_from':
      return textsOf(value).flatMap((one) => (one.name.startsWith('container:') ? [] : withoutAlias(one)))
    case 'network_mode':
    case 'ipc':
    case 'pid': {
      const name = /^service:(.+)$/.exec(textOf(value) ?? '')?.[1]
      return name === undefined ? [] : [{ name, range: value.range }]
    }
    default:
      return []
  }
}

/** Returns the name of a dependency in the long form, unless it may be missing (`required: false`). */
function dependencyOf({ key, keyRange, value }: Entry): Target[] {
  const isOptional = value.kind === 'map' && read.flag(value.entries, 'required') === false
  return isOptional ? [] : [{ name: key, range: keyRange }]
}

function textsOf(value: TreeNode): Target[] {
  if (value.kind !== 'list') return []
  return value.items.flatMap((item) => {
    const name = textOf(item)
    return name === undefined ? [] : [{ name, range: item.range }]
  })
}

/** Returns the service of `service:alias`. */
function withoutAlias({ name, range }: Target): Target {
  return { name: name.includes('$') ? name : (name.split(':', 1)[0] ?? ''), range }
}

function reportMissing(
  { name, range }: Target,
  { of, names }: { readonly of: string; readonly names: ReadonlySet<string> },
  { report, path }: Spot,
): void {
  const shown = name.slice(0, MAX_LENGTH)
  const close = report.suggest(shown, names, () => nearMiss(shown, [...names.values().take(MAX_CANDIDATES)]))
  report.warning(
    'compose-service',
    range,
    `${of} names "${shown}", which is not a service of the composition${didYouMean(close)}`,
    {
      path,
      hint: 'Add the service, or correct the name. Docker Compose rejects the reference.',
      ...(close !== undefined && { suggestion: { from: name, to: close } }),
    },
  )
}
