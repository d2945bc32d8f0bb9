/** Reads a whole account through the public API: projects, pipelines, contexts, step types and event triggers. */
import { fault, isFault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import { stringify } from 'yaml'
import { fieldsIn, textIn, type Fields } from '../judge/recognize.ts'
import type { Left, MigratedKind, SourceDocument } from '../judge/verdict.ts'
import type { AccountClient } from './account-client.ts'

const PAGE = 100
/** Largest number of resources of one kind. */
const MAX_RESOURCES = 20_000
/** Deeper values are not written as YAML, which is recursive. */
const MAX_DEPTH = 90

export interface Account {
  readonly documents: readonly SourceDocument[]
  readonly left: readonly Left[]
}

/** Reads all resources before anything is written. Throws the faults of the client, and `usage` for an account that is too large. */
export async function readAccount(client: AccountClient): Promise<Account> {
  const projects = (await readPages(client, '/api/projects', 'projects')).map(toProject)
  const stepTypes = await readStepTypes(client)
  const contexts = listIn(await client.read('/api/contexts'), '/api/contexts').map(toContext)
  const pipelines: Found[] = []
  for (const one of await readPages(client, '/api/pipelines', 'docs')) pipelines.push(toPipeline(await withSpec(client, one)))
  const all = [...projects, ...stepTypes, ...contexts, ...pipelines].map(toDocument)
  const documents = all.flatMap((one) => ('text' in one ? one : []))
  const left = all.flatMap((one) => ('reasons' in one ? one : []))
  return { documents, left: [...left, ...(await readEventTriggers(client))] }
}

/** Reads all pages of a list. A page may end early; the count of the answer says whether there is more. */
async function readPages(client: AccountClient, path: string, field: string): Promise<Fields[]> {
  const found: Fields[] = []
  for (;;) {
    const answer = await client.read(`${path}?limit=${PAGE}&offset=${found.length}`)
    const page = listIn(isRecord(answer) ? answer[field] : undefined, path)
    found.push(...page)
    const count = isRecord(answer) && typeof answer['count'] === 'number' ? answer['count'] : undefined
    const isLast = count === undefined ? page.length < PAGE : found.length >= count
    if (page.length === 0 || isLast) return found
    if (found.length > MAX_RESOURCES) throw tooMany(path)
  }
}

function listIn(value: unknown, path: string): Fields[] {
  if (!Array.isArray(value))
    throw fault('unavailable', {
      message: `The answer to GET ${path} has no list.`,
      hint: 'Check that the URL of --from is that of a Codefresh platform.',
    })
  if (value.length > MAX_RESOURCES) throw tooMany(path)
  return value.filter(isRecord)
}

function tooMany(path: string): Error {
  return fault('usage', {
    message: `GET ${path} lists more than ${MAX_RESOURCES} resources.`,
    hint: 'Export the resources to files and migrate those.',
  })
}

/** Lists may leave out the settings and steps of a pipeline. */
async function withSpec(client: AccountClient, pipeline: Fields): Promise<Fields> {
  const name = fieldsIn(pipeline, 'metadata')['name']
  if (isRecord(pipeline['spec']) || typeof name !== 'string' || name === '') return pipeline
  const whole = await client.read(`/api/pipelines/${encodeURIComponent(name)}`)
  return isRecord(whole) ? whole : pipeline
}

/** Reads every version of the step types of the account. Official ones belong to no account. */
async function readStepTypes(client: AccountClient): Promise<Found[]> {
  const latest = await readPages(client, '/api/step-types', 'docs')
  const own = latest.filter((one) => fieldsIn(one, 'metadata')['official'] !== true)
  const found: Found[] = []
  for (const one of own) {
    const metadata = fieldsIn(one, 'metadata')
    const name = textIn(metadata, 'name')
    found.push(toStepType(one))
    for (const version of name === '' ? [] : await listVersions(client, name)) {
      if (version === metadata['version']) continue
      const other = await client.read(`/api/step-types/${encodeURIComponent(`${name}:${version}`)}`)
      if (isRecord(other)) found.push(toStepType(other))
      if (found.length > MAX_RESOURCES) throw tooMany('/api/step-types')
    }
  }
  return found
}

async function listVersions(client: AccountClient, name: string): Promise<string[]> {
  const answer = await client.read(`/api/step-types/${encodeURIComponent(name)}/versions`)
  return Array.isArray(answer) ? answer.filter((one) => typeof one === 'string') : []
}

const TRIGGERS = '/api/hermes/triggers'

/** Event triggers are not part of pipelines. A server without them does not know the path. */
async function readEventTriggers(client: AccountClient): Promise<Left[]> {
  try {
    const triggers = listIn(await client.read(TRIGGERS), TRIGGERS)
    return triggers.map((trigger) => ({
      kind: 'trigger',
      name: textIn(trigger, 'event'),
      from: TRIGGERS,
      reasons: [
        {
          path: '',
          reason: `The event starts the pipeline ${textIn(trigger, 'pipeline')}. Such triggers do not move.`,
          action:
            'Create it with `windlass create cron-trigger`, or with `create webhook --registry` and `create event-trigger`.',
        },
      ],
    }))
  } catch (error) {
    if (isFault(error, 'not-found')) return []
    if (!isFault(error, 'forbidden')) throw error
    const reason = 'The key may not read the event triggers of the account.'
    return [
      {
        kind: 'trigger',
        name: '',
        from: TRIGGERS,
        reasons: [{ path: '', reason, action: 'Look for cron and registry triggers in the account.' }],
      },
    ]
  }
}

interface Found {
  readonly kind: MigratedKind
  readonly from: string
  /** As in a file. */
  readonly document: Fields
}

function toProject({ projectName, variables, tags }: Fields): Found {
  return {
    kind: 'project',
    from: '/api/projects',
    document: { kind: 'project', metadata: { name: projectName }, spec: { variables: variables ?? [], tags } },
  }
}

function toContext({ metadata, spec }: Fields): Found {
  const { name, default: isDefault } = fieldsIn({ metadata }, 'metadata')
  return {
    kind: 'context',
    from: '/api/contexts',
    document: { kind: 'context', metadata: { name, ...(isDefault === true && { default: true }) }, spec },
  }
}

/** Leaves out what the account says about the pipeline: ids, dates, revisions. */
function toPipeline({ version, metadata, spec }: Fields): Found {
  const { name, description, labels } = fieldsIn({ metadata }, 'metadata')
  const own = {
    name,
    ...(typeof description === 'string' && description !== '' && { description }),
    ...(isRecord(labels) && Object.keys(labels).length > 0 && { labels }),
  }
  const settings = Object.fromEntries(Object.entries(fieldsIn({ spec }, 'spec')).filter(([, value]) => !isEmptyList(value)))
  return {
    kind: 'pipeline',
    from: '/api/pipelines',
    document: { version: version ?? '1.0', kind: 'pipeline', metadata: own, spec: settings },
  }
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

const OF_ACCOUNT = ['created_at', 'updated_at', 'isPublic', 'official', 'accountId', 'id', '_id', 'latest']

function toStepType({ version, metadata, spec }: Fields): Found {
  const own = Object.fromEntries(
    Object.entries(fieldsIn({ metadata }, 'metadata')).filter(([key, value]) => !OF_ACCOUNT.includes(key) && value !== null),
  )
  return {
    kind: 'step-type',
    from: '/api/step-types',
    document: { version: version ?? '1.0', kind: 'step-type', metadata: own, spec },
  }
}

function toDocument({ kind, from, document }: Found): SourceDocument | Left {
  const name = textIn(fieldsIn(document, 'metadata'), 'name')
  if (isDeep(document, MAX_DEPTH))
    return { kind, name, from, reasons: [{ path: '', reason: 'The document is nested too deeply.', action: '' }] }
  return {
    text: stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }),
    from,
    line: undefined,
    name: undefined,
    isNamed: true,
  }
}

/** Returns true if the value has more levels than `levels`. */
function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inside) => isDeep(inside, levels - 1))
}
