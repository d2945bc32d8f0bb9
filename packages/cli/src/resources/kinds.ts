/** The kinds of things that `get`, `delete` and `apply` know: where they live in the API and what is shown of them. */
import { fault } from '@windlass/kit/faults'
import { formatDuration } from '@windlass/plan'
import { Agent, ApiKey, Build, Context, Pipeline, Project, Runtime, StepType } from '@windlass/protocol'
import type { z } from 'zod'
import { paintStatus } from '../format/style.ts'
import { formatAge, formatTime } from '../format/time.ts'
import type { Style } from '../format/style.ts'
import { KIND_NAMES, type KindName } from '../kind-names.ts'

export interface Look {
  readonly now: number
  readonly style: Style
}

export type Columns<T> = Readonly<Record<string, (item: T, look: Look) => string>>

export interface Kind<T> {
  readonly name: KindName
  readonly singular: string
  /** What to say to find one: the name, or the id of things without names. */
  readonly path: string
  readonly shape: z.ZodType<T>
  readonly nameOf: (item: T) => string
  readonly columns: Columns<T>
  /** Further columns of `-o wide`. */
  readonly wide: Columns<T>
}

const age = (item: { createdAt: number }, { now }: Look): string => formatAge(item.createdAt, now)

const pipelines: Kind<Pipeline> = {
  name: 'pipelines',
  singular: 'pipeline',
  path: '/v1/pipelines',
  shape: Pipeline,
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    RUNTIME: ({ runtime }) => runtime ?? '',
    REVISION: ({ revision }) => String(revision),
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    CONCURRENCY: ({ concurrency }) => String(concurrency ?? ''),
    CONTEXTS: ({ contexts }) => contexts.join(','),
  },
}

const builds: Kind<Build> = {
  name: 'builds',
  singular: 'build',
  path: '/v1/builds',
  shape: Build,
  nameOf: ({ id }) => id,
  columns: {
    ID: ({ id }) => id,
    NUMBER: ({ number }) => String(number),
    PIPELINE: ({ pipeline }) => pipeline ?? '',
    STATUS: ({ status }, { style }) => paintStatus(style, status),
    REASON: ({ reason }) => reason ?? '',
    BRANCH: ({ branch }) => branch ?? '',
    ANNOTATION: ({ display }) => (display === undefined ? '' : `${display.name}=${display.value}`),
    TIME: durationOf,
    AGE: age,
  },
  wide: {
    COMMIT: ({ revision }) => (revision ?? '').slice(0, 8),
    RUNTIME: ({ runtime }) => runtime ?? '',
    ATTEMPT: ({ attempt }) => String(attempt),
    INITIATOR: ({ initiator }) => initiator,
    CREATED: ({ createdAt }) => formatTime(createdAt),
  },
}

export const runtimes: Kind<Runtime> = {
  name: 'runtimes',
  singular: 'runtime',
  path: '/v1/runtimes',
  shape: Runtime,
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    TYPE: ({ type }) => type,
    DEFAULT: ({ isDefault }) => (isDefault ? 'yes' : ''),
    AGENT: ({ agent, agentOnline }, { style }) =>
      agent === undefined ? '' : `${agent} (${paintStatus(style, agentOnline ? 'online' : 'offline')})`,
    RUNNING: ({ running }) => String(running),
    WAITING: ({ waiting }) => String(waiting),
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    WARM: ({ warm }) => (warm === undefined ? '' : `${warm.ready} ready, ${warm.starting} starting`),
    CAPACITY: ({ spec }) => (typeof spec['capacity'] === 'number' ? String(spec['capacity']) : ''),
  },
}

const agents: Kind<Agent> = {
  name: 'agents',
  singular: 'agent',
  path: '/v1/agents',
  shape: Agent,
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    STATUS: ({ status }, { style }) => paintStatus(style, status),
    EXECUTOR: ({ executor }) => executor ?? '',
    RUNTIMES: (agent) => agent.runtimes.join(','),
    SEEN: ({ lastSeenAt }, { now }) => (lastSeenAt === undefined ? 'never' : formatAge(lastSeenAt, now)),
    AGE: age,
  },
  wide: { ID: ({ id }) => id, VERSION: ({ version }) => version ?? '' },
}

const projects: Kind<Project> = {
  name: 'projects',
  singular: 'project',
  path: '/v1/projects',
  shape: Project,
  nameOf: ({ name }) => name,
  columns: { NAME: ({ name }) => name, PIPELINES: (project) => String(project.pipelines), AGE: age },
  wide: { ID: ({ id }) => id, VARIABLES: ({ variables }) => Object.keys(variables).join(',') },
}

const contexts: Kind<Context> = {
  name: 'contexts',
  singular: 'context',
  path: '/v1/contexts',
  shape: Context,
  nameOf: ({ name }) => name,
  columns: { NAME: ({ name }) => name, TYPE: ({ type }) => type, DEFAULT: ({ isDefault }) => (isDefault ? 'yes' : ''), AGE: age },
  wide: { ID: ({ id }) => id, KEYS: ({ data }) => Object.keys(data).join(',') },
}

const keys: Kind<ApiKey> = {
  name: 'keys',
  singular: 'key',
  path: '/v1/keys',
  shape: ApiKey,
  nameOf: ({ name }) => name,
  columns: { NAME: ({ name }) => name, ROLE: ({ role }) => role, PREFIX: ({ prefix }) => prefix, AGE: age },
  wide: { ID: ({ id }) => id },
}

const stepTypes: Kind<StepType> = {
  name: 'step-types',
  singular: 'step-type',
  path: '/v1/step-types',
  shape: StepType,
  nameOf: ({ name, version }) => `${name}:${version}`,
  columns: {
    NAME: ({ name }) => name,
    VERSION: ({ version }) => version,
    VERSIONS: ({ versions }) => String(versions),
    AGE: (item, look) => (item.builtIn ? 'built in' : age(item, look)),
  },
  wide: { DESCRIPTION: ({ description }) => description.split('\n')[0] ?? '' },
}

/** Calls `use` with the kind of that name; plural and singular are both understood. Throws `usage`. */
export function withKind<R>(name: string, use: <T>(kind: Kind<T>) => R): R {
  switch (name.endsWith('s') ? name : `${name}s`) {
    case 'pipelines':
      return use(pipelines)
    case 'builds':
      return use(builds)
    case 'runtimes':
      return use(runtimes)
    case 'agents':
      return use(agents)
    case 'projects':
      return use(projects)
    case 'contexts':
      return use(contexts)
    case 'keys':
      return use(keys)
    case 'step-types':
      return use(stepTypes)
    default:
      throw fault('usage', { message: `There is no kind '${name}'.`, hint: `The kinds are ${KIND_NAMES.join(', ')}.` })
  }
}

function durationOf({ startedAt, finishedAt }: Build, { now }: Look): string {
  if (startedAt === undefined) return ''
  return formatDuration(Math.max(0, (finishedAt ?? now) - startedAt))
}
