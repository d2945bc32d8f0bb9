/** The resource kinds of `get` and `delete`: their calls and columns. */
import type { ApiClient } from '@windlass/client'
import { defined } from '@windlass/kit/defined'
import { fault, isFault } from '@windlass/kit/faults'
import { formatDuration, formatProgress, formatWaiting } from '@windlass/plan'
import type {
  Agent,
  ApiKey,
  Build,
  Context,
  Pipeline,
  Project,
  ProjectQuotas,
  Runtime,
  Session,
  StepTypeResource,
  Team,
  User,
} from '@windlass/protocol'
import { paintStatus } from '../format/style.ts'
import { formatAge, formatTime } from '../format/time.ts'
import { KIND_NAMES } from '../kind-names.ts'
import { applications } from './application-kind.ts'
import { age, type Kind, type RenderContext } from './kind.ts'
import { notifications } from './notification-kind.ts'
import { disks } from './disk-kind.ts'
import { gitlabJobs } from './gitlab-job-kind.ts'
import { links } from './link-kind.ts'
import { environments, products, promotionFlows, promotionPolicies, promotionTemplates, releases } from './product-kinds.ts'
import { rollouts, workflows } from './reported-kinds.ts'
import { tunnels } from './tunnel-kind.ts'
import { cronTriggers, deliveries, eventTriggers, messages, triggers, webhooks } from './trigger-kinds.ts'

export type { BuildFilters, Columns, Kind, KindCalls, ListQuery, RenderContext } from './kind.ts'

const pipelines: Kind<Pipeline> = {
  name: 'pipelines',
  singular: 'pipeline',
  of: ({ pipelines: { list, get, delete: remove } }) => ({
    async list({ query: { limit, cursor, q, project } }) {
      const query = { limit, ...defined({ cursor, q, project: project?.at(-1) }) }
      try {
        return await list({ query: { ...query, activity: true } })
      } catch (error) {
        // A key may be limited to pipelines.
        if (!isFault(error, 'scope-missing')) throw error
        return list({ query })
      }
    },
    get,
    remove: (name) => remove(name),
  }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    'LAST BUILD': ({ activity }, { style }) => {
      const last = activity?.builds[0]
      return last === undefined ? '' : `#${last.number} ${paintStatus(style, last.status)}`
    },
    RUNTIME: ({ runtime }) => runtime ?? '',
    REVISION: ({ revision }) => String(revision),
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    CONCURRENCY: ({ concurrency }) => String(concurrency ?? ''),
    CONTEXTS: ({ contexts }) => contexts.join(','),
    TRIGGERS: ({ activity }) => String(activity?.triggers ?? ''),
  },
}

/** Returns the pipeline of a build. Without one, the file of its document, in parentheses. */
function documentOf({ pipeline, file }: Build): string {
  return pipeline ?? (file === undefined ? '' : `(${file})`)
}

const builds: Kind<Build> = {
  name: 'builds',
  singular: 'build',
  of: ({ builds: { list, get } }) => ({
    list: ({ query: { pipelines: names, ...query } }) => list({ query: { ...query, ...defined({ pipeline: names }) } }),
    get,
  }),
  nameOf: ({ id }) => id,
  columns: {
    ID: ({ id }) => id,
    NUMBER: ({ number }) => String(number),
    PIPELINE: documentOf,
    STATUS: ({ status }, { style }) => paintStatus(style, status),
    REASON: ({ reason }) => reason ?? '',
    BRANCH: ({ branch }) => branch ?? '',
    ANNOTATION: ({ display }) => (display === undefined ? '' : `${display.name}=${display.value}`),
    TIME: durationOf,
    AGE: age,
  },
  wide: {
    COMMIT: ({ revision }) => (revision ?? '').slice(0, 8),
    MESSAGE: ({ commit }) => commit?.message ?? '',
    STEPS: ({ progress }) => formatProgress(progress),
    'WAITS FOR': ({ waiting }) => formatWaiting(waiting),
    RUNTIME: ({ runtime }) => runtime ?? '',
    ATTEMPT: ({ attempt }) => String(attempt),
    INITIATOR: ({ initiator }) => initiator,
    CREATED: ({ createdAt }) => formatTime(createdAt),
  },
}

export const runtimes: Kind<Runtime> = {
  name: 'runtimes',
  singular: 'runtime',
  of: ({ runtimes: { list, get, delete: remove } }) => ({ list: () => list(), get, remove }),
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
    HEALTH: ({ health }) => health?.sentence ?? '',
  },
  wide: {
    ID: ({ id }) => id,
    WARM: ({ warm }) =>
      warm === undefined
        ? ''
        : `${warm.ready} ready, ${warm.starting} starting${warm.problem === undefined ? '' : `; ${warm.problem}`}`,
    CAPACITY: ({ spec }) => (typeof spec['capacity'] === 'number' ? String(spec['capacity']) : ''),
  },
}

const agents: Kind<Agent> = {
  name: 'agents',
  singular: 'agent',
  of: ({ agents: { list, get, delete: remove } }) => ({ list: () => list(), get, remove }),
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
  of: ({ projects: { list, get, delete: remove } }) => ({ list, get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: { NAME: ({ name }) => name, PIPELINES: (project) => String(project.pipelines), AGE: age },
  wide: {
    ID: ({ id }) => id,
    VARIABLES: ({ variables }) => Object.keys(variables).join(','),
    QUOTAS: ({ quotas = {} }) => showQuotas(quotas),
  },
}

function showQuotas(quotas: ProjectQuotas): string {
  return Object.entries(quotas)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
}

const contexts: Kind<Context> = {
  name: 'contexts',
  singular: 'context',
  of: ({ contexts: { list, get, delete: remove } }) => ({ list: () => list(), get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    TYPE: ({ type }) => type,
    DEFAULT: ({ isDefault }) => (isDefault ? 'yes' : ''),
    AGE: age,
    PROBLEM: ({ problem }) => problem ?? '',
  },
  wide: {
    ID: ({ id }) => id,
    KEYS: ({ data }) => Object.keys(data).join(','),
    EXPIRES: ({ expiresAt }) => (expiresAt === undefined ? '' : formatTime(expiresAt)),
  },
}

const keys: Kind<ApiKey> = {
  name: 'keys',
  singular: 'key',
  of: ({ keys: { list, delete: remove } }) => ({
    list: () => list(),
    get: (name) => findKey(list, name),
    remove: (name) => remove(name),
  }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    OWNER: ({ owner }) => owner?.name ?? '',
    ROLE: ({ role }) => role,
    PREFIX: ({ prefix }) => prefix,
    USED: ({ usedAt }, { now }) => (usedAt === undefined ? 'never' : formatAge(usedAt, now)),
    EXPIRES: ({ expiresAt }) => (expiresAt === undefined ? 'never' : formatTime(expiresAt)),
    AGE: age,
  },
  wide: { ID: ({ id }) => id, 'CREATED BY': ({ createdBy }) => createdBy ?? '', SCOPES: ({ scopes = [] }) => scopes.join(',') },
}

const users: Kind<User> = {
  name: 'users',
  singular: 'user',
  of: ({ users: { list, get, delete: remove } }) => ({ list, get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    KIND: ({ kind }) => kind,
    ROLE: ({ role }) => role,
    PROJECTS: ({ projects }) => showRoles(projects),
    STATE: ({ state }) => state,
    'SIGNED IN': ({ signedInAt }, { now }) => (signedInAt === undefined ? '' : formatAge(signedInAt, now)),
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    PIPELINES: ({ pipelines = {} }) => showRoles(pipelines),
    TEAMS: (user) => (user.teams ?? []).join(','),
    'DISPLAY NAME': ({ displayName }) => displayName ?? '',
  },
}

function showRoles(roles: User['projects']): string {
  return Object.entries(roles)
    .map(([name, role]) => `${name}=${role}`)
    .join(',')
}

const teams: Kind<Team> = {
  name: 'teams',
  singular: 'team',
  of: ({ teams: { list, get, delete: remove } }) => ({ list, get, remove: (name) => remove(name) }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    ROLE: ({ role }) => role,
    PROJECTS: ({ projects }) => showRoles(projects),
    MEMBERS: ({ members }) => members.join(','),
    AGE: age,
  },
  wide: { ID: ({ id }) => id, PIPELINES: ({ pipelines = {} }) => showRoles(pipelines) },
}

const sessions: Kind<Session> = {
  name: 'sessions',
  singular: 'session',
  of: ({ sessions: { list, delete: remove } }) => ({
    list: () => list(),
    get: (id) => findSession(list, id),
    remove: (id) => remove(id),
  }),
  nameOf: ({ id }) => id,
  columns: {
    ID: ({ id }) => id,
    USER: ({ user }) => user?.name ?? '',
    KEY: ({ key }) => key?.name ?? '',
    ROLE: ({ role }) => role,
    SEEN: ({ seenAt }, { now }) => formatAge(seenAt, now),
    EXPIRES: ({ expiresAt }) => formatTime(expiresAt),
    AGE: age,
  },
  wide: { CLIENT: ({ client }) => client ?? '' },
}

const stepTypes: Kind<StepTypeResource> = {
  name: 'step-types',
  singular: 'step-type',
  of: ({ stepTypes: { list, get, versions, delete: remove } }) => ({ list, get, versions, remove: (name) => remove(name) }),
  nameOf: ({ name, version }) => `${name}:${version}`,
  columns: {
    NAME: ({ name }) => name,
    VERSION: ({ version }) => version,
    VERSIONS: ({ versions }) => String(versions),
    AGE: (item, renderContext) => (item.builtIn ? 'built in' : age(item, renderContext)),
  },
  wide: { DESCRIPTION: ({ description }) => description.split('\n')[0] ?? '' },
}

/** Calls `use` with the named kind, in plural or singular. Throws `usage`. */
export function withKind<R>(name: string, use: <T>(kind: Kind<T>) => R): R {
  switch (name.endsWith('s') ? name : /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`) {
    case 'pipelines':
      return use(pipelines)
    case 'builds':
      return use(builds)
    case 'gitlab-jobs':
      return use(gitlabJobs)
    case 'triggers':
      return use(triggers)
    case 'cron-triggers':
      return use(cronTriggers)
    case 'event-triggers':
      return use(eventTriggers)
    case 'webhooks':
      return use(webhooks)
    case 'deliveries':
      return use(deliveries)
    case 'messages':
      return use(messages)
    case 'notifications':
      return use(notifications)
    case 'runtimes':
      return use(runtimes)
    case 'agents':
      return use(agents)
    case 'tunnels':
      return use(tunnels)
    case 'applications':
      return use(applications)
    case 'rollouts':
      return use(rollouts)
    case 'workflows':
      return use(workflows)
    case 'environments':
      return use(environments)
    case 'products':
      return use(products)
    case 'releases':
      return use(releases)
    case 'promotion-flows':
      return use(promotionFlows)
    case 'promotion-policies':
      return use(promotionPolicies)
    case 'promotion-templates':
      return use(promotionTemplates)
    case 'disks':
      return use(disks)
    case 'projects':
      return use(projects)
    case 'contexts':
      return use(contexts)
    case 'keys':
      return use(keys)
    case 'users':
      return use(users)
    case 'teams':
      return use(teams)
    case 'sessions':
      return use(sessions)
    case 'links':
      return use(links)
    case 'step-types':
      return use(stepTypes)
    default:
      throw fault('usage', { message: `The kind "${name}" does not exist.`, hint: `Use one of ${KIND_NAMES.join(', ')}.` })
  }
}

function durationOf({ startedAt, finishedAt }: Build, { now }: RenderContext): string {
  if (startedAt === undefined) return ''
  return formatDuration(Math.max(0, (finishedAt ?? now) - startedAt))
}

/** Returns a session from the list of sessions, because the server has no route for a single one. Throws `not-found`. */
async function findSession(list: ApiClient['sessions']['list'], id: string): Promise<Session> {
  const found = (await list()).items.find((session) => session.id === id)
  if (found === undefined) throw fault('not-found', { message: `The session "${id}" does not exist.` })
  return found
}

/** Returns a key from the list of keys, because the server has no route for a single one. Throws `not-found`. */
async function findKey(list: ApiClient['keys']['list'], name: string): Promise<ApiKey> {
  const found = (await list()).items.find((key) => key.name === name || key.id === name)
  if (found === undefined) throw fault('not-found', { message: `The key "${name}" does not exist.` })
  return found
}
